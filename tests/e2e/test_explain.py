"""`explain` of a product for a GPU: every decision that makes it fast, with what it beat."""

import re

import tile_frontend.language as T
from tile_frontend.driver import lowered
from tile_frontend.report import explain
from tile_frontend.target_select import select


@T.prim_func
def matmul(
    A: T.Tensor((4096, 4096), T.float16),
    B: T.Tensor((4096, 4096), T.float16),
    C: T.Tensor((4096, 4096), T.float16),
):
    with T.Kernel(16, 32, threads=256) as (bx, by):
        A_s = T.alloc_shared((128, 64), T.float16)
        B_s = T.alloc_shared((64, 256), T.float16)
        C_l = T.alloc_fragment((128, 256), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(64, num_stages=4):
            T.copy(A[by * 128, k * 64], A_s)
            T.copy(B[k * 64, bx * 256], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * 128, bx * 256])


def plan_for(arch):
    return lowered(matmul.function, select(f"cuda -arch={arch}"))[0].plan


def test_a_product_for_hopper(golden):
    golden(explain(plan_for("sm_90a")), ext="txt")


def test_everything_that_matters_is_a_decision():
    plan = plan_for("sm_90a")
    wanted = (
        *("gemm:C_l.atom", "C_l.layout", "A_s.layout", "B_s.layout", "k.depth", "roles"),
        *("registers", "tiles.cluster", "tiles.raster", "tiles.panel", "copy:C.engine"),
        *("C_stage.chunk", "A_s.offset", "B_s.offset", "C_stage.offset", "shared_bytes"),
        "blocks_per_core",
    )
    assert [key for key in wanted if plan.find(f"matmul.{key}") is None] == []
    assert all(decision.reason for decision in plan)


def test_swizzles_are_weighed_by_their_conflicts():
    text = explain(plan_for("sm_90a"), "matmul.A_s.layout")
    assert re.findall(r"not (.*): (\d+) cycles", text) == [
        ("d0 (128:32) d1 (32:1, 2:4096) swizzle<2,4,3>", "1"),
        ("d0 (128:16) d1 (16:1, 4:2048) swizzle<1,4,3>", "1"),
        ("d0 (128:64) d1 (64:1)", "8"),
    ]


def test_another_device_is_explained_by_the_same_keys():
    plan = plan_for("sm_100a")
    assert plan.value("matmul.gemm:C_l.atom", "") == "m16n8k16_f16"
    assert plan.value("matmul.blocks_per_core", 0) == 1
    assert "shared memory" in plan.find("matmul.blocks_per_core").reason
