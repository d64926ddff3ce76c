"""The pipelined product of GPUs that copy by threads and multiply by warps: what its loop looks
like, and how large the programs of products are."""

import re

import pytest

from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.pipeline import pipeline
from tile_cuda.toolchain import compile_source
from tile_ir.expr import walk as expressions
from tile_ir.rewrite import stmt_exprs, walk
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline

MATMUL = """
func @gemm(A: global f16[4096, 4096], B: global f16[4096, 4096], C: global f16[4096, 4096]) {{
  kernel @gemm threads = ({threads}) {{
    tiles (bx, by) in (4096 // {n}, 32){claim} {{
      alloc A_s: shared f16[128, 64]
      alloc B_s: shared f16[64, {n}]
      alloc acc: fragment f32[128, {n}]
      fill acc[:, :], 0.0
      for k in (0, 64, 1) pipelined num_stages = {stages} {{
        copy A[by * 128 : +128, k * 64 : +64] -> A_s[:, :]
        copy B[k * 64 : +64, bx * {n} : +{n}] -> B_s[:, :]
        gemm A_s[:, :], B_s[:, :] -> acc[:, :]
      }}
      copy acc[:, :] -> C[by * 128 : +128, bx * {n} : +{n}]
    }}
  }}
}}
"""


def lowered(arch, n, threads, stages, claim=""):
    text = MATMUL.format(n=n, threads=threads, stages=stages, claim=claim)
    cx = PassContext(target=spec.load(arch))
    return run_pipeline(pipeline(), State(function=parse_function(text)), cx).state.function


@pytest.fixture(scope="module")
def older():
    """The source of the product for the generation before boxes."""
    return emit(lowered("sm_80", 128, 128, 3), spec.load("sm_80")).source


def test_one_barrier_a_trip_and_operands_a_step_ahead(older):
    loop = older[older.index("#pragma unroll 1") if "#pragma unroll 1" in older else 0 :]
    loop = loop[loop.index("for (int k = 0;") :]
    order = re.findall(r"(__syncthreads|tile_ldmatrix_x4|tile_mma|tile_copy_async)", loop)
    kept = [x for i, x in enumerate(order) if i == 0 or order[i - 1] != x]
    assert kept[:3] == ["tile_ldmatrix_x4", "tile_copy_async", "tile_mma"]
    assert kept[-3:] == ["__syncthreads", "tile_ldmatrix_x4", "tile_mma"]
    assert kept.count("__syncthreads") == 1


def test_slots_are_added_to_addresses_that_stay(older):
    places = re.findall(r"tile_ldmatrix_x4\(&\w+\[[^]]*\], (.*)\);", older)
    assert places
    for place in places:
        base, _, moving = place.partition(") + ")
        assert "tile_shared(&A_s[" in base
        assert "slot" not in base
        assert "slot" in moving


def test_steps_of_copies_share_an_address(older):
    (far, *_) = re.findall(r"&A\[(.*)\]\);", older)
    assert far.endswith("+ (long long)(v * 16) * 4096")


def test_two_blocks_of_it_fit_on_a_core(older):
    _, usage = compile_source(older, "sm_80")
    assert usage["gemm"].spill_stores == 0
    assert usage["gemm"].registers <= 255


def nodes(fn):
    stmts = list(walk(fn.body))
    return len(stmts) + sum(len(expressions(e)) for s in stmts for e in stmt_exprs(s))


def test_the_program_of_an_interleaved_product_stays_small():
    assert nodes(lowered("sm_90a", 256, 256, 4)) <= 1200


def test_a_dynamic_claim_is_a_block_for_each_tile():
    fn = lowered("sm_80", 128, 128, 3, " claim = dynamic")
    text = emit(fn, spec.load("sm_80")).source
    assert "(int)blockIdx.x" in text
    assert "gridDim" not in text
