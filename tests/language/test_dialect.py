"""Names of one family of devices, which the language takes from an installed dialect."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import tile_cuda.language
import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda.manifest import DIALECT
from tile_frontend.language.dialects import dialect_names, from_dialect
from tile_frontend.language.refused import Refused, refused_names
from tile_ir import plugin
from tile_ir.diag import TileError
from tile_ir.testing.by_path import module_at
from tile_ir.verify import verify

EXAMPLE = re.compile(r"Example: `(.+?)`\s*$", re.MULTILINE | re.DOTALL)

TEMPLATE = """
import tile_frontend.language as T

@T.prim_func
def example(A: T.Tensor((64, 64), T.float32), B: T.Tensor((64, 64), T.float32)):
    with T.ClusterKernel(4, cluster_dims=2, threads=256) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        S2 = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        x = T.alloc_var(T.float32, init=0.5)
        {example}
"""


def test_the_manifest_lists_what_the_module_has():
    assert sorted(DIALECT.names) == sorted(tile_cuda.language.__all__)
    assert set(DIALECT.names) <= set(dialect_names())


def test_a_name_is_the_dialects():
    assert T.cluster_sync is tile_cuda.language.cluster_sync
    assert T.ClusterKernel is tile_cuda.language.ClusterKernel
    assert from_dialect("gemm") is None


@pytest.mark.parametrize("name", DIALECT.names)
def test_example_of_the_documentation_traces(name, tmp_path):
    doc = inspect.getdoc(getattr(T, name)) or ""
    assert re.search(r"Raises", doc), f"T.{name} does not say what it raises"
    found = EXAMPLE.search(doc)
    assert found, f"T.{name} has no example"
    path = tmp_path / "example.py"
    path.write_text(TEMPLATE.format(example=" ".join(found[1].split())), "utf-8")
    module = module_at(path)
    assert verify(module.example.function) == ()


def test_the_frontend_loads_no_dialect_unasked():
    code = (
        "import sys, tile_frontend.language as T\n"
        "assert 'tile_cuda' not in sys.modules\n"
        "T.gemm\n"
        "assert 'tile_cuda' not in sys.modules\n"
        "T.cluster_sync\n"
        "assert 'tile_cuda.language' in sys.modules and 'tile_cuda.emit' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package_the_name_says_which_one_has_it(monkeypatch):
    real = plugin.discover

    def without(group):
        return () if group == "tile.dialects" else real(group)

    monkeypatch.setattr("tile_frontend.language.dialects.discover", without)
    found = T.cluster_sync
    assert isinstance(found, Refused)
    with pytest.raises(TileError) as caught:
        found()
    assert caught.value.code == "E1507"
    assert "tile-cuda" in caught.value.message
    assert caught.value.help == "pip install tile-cuda"
    assert dialect_names() == ()


def test_every_name_of_the_dialect_is_known_without_it():
    assert {n for n in refused_names() if refused_names()[n] == "tile-cuda"} == set(DIALECT.names)


def test_an_unknown_name_gets_the_dialects_as_suggestions():
    with pytest.raises(AttributeError, match=r"did you mean T\.cluster_sync"):
        T.cluster_sing


def test_what_asks_for_speed_only_changes_nothing(run):
    """Dependent launches, and fences and groups of matrix instructions in flight."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), T.float16), B: T.Tensor((64, 64), T.float32)):
        with T.Kernel(1, threads=128):
            T.pdl_sync()
            S = T.alloc_shared((64, 64), T.float16)
            C = T.alloc_fragment((64, 64), T.float32)
            T.copy(A, S)
            T.clear(C)
            T.warpgroup_fence_operand(C)
            T.warpgroup_arrive()
            T.wgmma_gemm(S, S, C)
            T.warpgroup_commit_batch()
            T.warpgroup_wait(0)
            T.pdl_trigger()
            T.copy(C, B)

    a = (np.arange(4096) % 7 - 3).reshape(64, 64).astype(np.float16)
    outcome = run(main, a, np.zeros((64, 64), np.float32))
    np.testing.assert_array_equal(outcome.args[1], a.astype(np.float32) @ a.astype(np.float32))


def test_runs_of_elements_that_iterations_copy(run):
    @T.prim_func
    def main(A: T.Tensor((30, 16), T.float16), B: T.Tensor((32, 16), T.float16)):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((32, 16), T.float16)
            for i, j in T.Parallel(32, 2):
                T.ptx_cp_async(
                    T.access_ptr(S[i, j * 8], "w", 8),
                    T.access_ptr(A[i, j * 8], "r", 8),
                    8,
                    predicate=i % 2 == 0,
                )
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            T.copy(S, B)

    a = np.arange(480).reshape(30, 16).astype(np.float16)
    want = np.zeros((32, 16), np.float16)
    want[:30:2] = a[::2]
    np.testing.assert_array_equal(run(main, a, np.zeros_like(want)).args[1], want)


def test_copies_in_groups_that_arrive_at_a_barrier(run):
    @T.prim_func
    def main(A: T.Tensor((64,), T.float32), B: T.Tensor((64,), T.float32)):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), T.float32)
            come = T.alloc_barrier(64)
            T.ptx_init_barrier_thread_count(come, 64)
            T.ptx_fence_barrier_init()
            T.async_copy(A[0:64], S)
            T.ptx_cp_async_barrier(come)
            T.cp_async_barrier_noinc(come)
            T.mbarrier_wait_parity(come, 0)
            T.copy(S, B)

    a = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(run(main, a, np.zeros_like(a)).args[1], a)


def test_tiles_of_the_device_are_named_with_their_reason():
    reasons = {}
    for name in ("alloc_tmem", "clc_try_cancel", "tma_load", "ptx_mma"):
        with pytest.raises(TileError) as caught:
            getattr(T, name)()
        assert caught.value.code == "E1502"
        reasons[name] = caught.value.message.partition(" ")[2]
    assert len(set(reasons.values())) == 4


def test_it_is_compiled_by_its_module_too():
    import tile_cuda.language as cuda

    @T.prim_func
    def main(A: T.Tensor((4,), T.int32)):
        with cuda.ClusterKernel(4, cluster_dims=2, threads=32) as bx:
            A[bx] = cuda.block_rank_in_cluster()

    a = np.zeros(4, np.int32)
    tile.compile(main, target="cpu")(a)
    assert a.tolist() == [0, 1, 0, 1]


def test_a_schedule_of_roles_changes_nothing(run):
    @T.prim_func
    def main(A: T.Tensor((64, 64), T.float16), B: T.Tensor((64, 64), T.float32)):
        with T.Kernel(1, threads=256):
            S = T.alloc_shared((64, 64), T.float16)
            C = T.alloc_fragment((64, 64), T.float32)
            sync = T.WSSync
            T.annotate_ws_schedule(
                T.WSSchedule(
                    8,
                    [
                        T.WSRole("load", warps_lo=4, warps_hi=8, max_nreg=40),
                        T.WSRole("product", warps_lo=0, warps_hi=4),
                    ],
                    [T.WSPipeline("tiles", [S], 2)],
                    [
                        T.WSScope(
                            T.WSScope.ROOT,
                            {
                                "load": [sync.producer_acquire("tiles"), "bring"],
                                "product": [sync.consumer_wait("tiles"), T.WSOpRef("multiply")],
                            },
                        )
                    ],
                )
            )
            T.clear(C)
            T.copy(A, S, annotations={T.WSID: "bring"})
            with T.ws_op("multiply"):
                T.gemm(S, S, C)
            T.copy(C, B)

    a = (np.arange(4096) % 5 - 2).reshape(64, 64).astype(np.float16)
    outcome = run(main, a, np.zeros((64, 64), np.float32))
    np.testing.assert_array_equal(outcome.args[1], a.astype(np.float32) @ a.astype(np.float32))


CONTRADICTIONS = {
    "no schedule": (lambda: 8, "is no T.WSSchedule"),
    "warps": (lambda: T.WSSchedule(6, [], [], []), "no multiple of 4"),
    "shared warp": (
        lambda: T.WSSchedule(
            8,
            [T.WSRole("a", warps_lo=0, warps_hi=4), T.WSRole("b", warps_lo=3, warps_hi=8)],
            [],
            [],
        ),
        "warp 3 is in the roles a and b",
    ),
    "one name": (
        lambda: T.WSSchedule(
            8, [T.WSRole("a", warps_lo=n, warps_hi=n + 4) for n in (0, 4)], [], []
        ),
        "two roles have one name: a, a",
    ),
    "no number": (lambda: T.WSSchedule("8", [], [], []), "of another type"),
    "no roles": (lambda: T.WSSchedule(8, None, [], []), "of another type"),
    "no role": (lambda: T.WSSchedule(8, ["a"], [], []), "of another type"),
    "versions": (lambda: T.WSSchedule(4, [], [T.WSPipeline("p", [], 0)], []), "0 versions"),
    "role": (lambda: T.WSSchedule(4, [], [], [T.WSScope("k", {"a": []})]), "no role a"),
    "pipeline": (
        lambda: T.WSSchedule(
            4,
            [T.WSRole("a", warps_lo=0, warps_hi=4)],
            [],
            [T.WSScope("k", {"a": [T.WSSync.producer_commit("p")]})],
        ),
        "no pipeline p",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_schedules_that_contradict_themselves(name):
    make, message = CONTRADICTIONS[name]
    with pytest.raises(TileError) as caught:

        @T.prim_func
        def main(A: T.Tensor((4,), T.int32)):
            with T.Kernel(4) as bx:
                T.annotate_ws_schedule(make())
                A[bx] = bx

    assert caught.value.code == "E1518"
    assert message in caught.value.message
