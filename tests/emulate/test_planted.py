"""Mistakes planted into generated code, one at a time: each is reported with its kind and at the
user's line, under every schedule; the code as it was generated runs clean.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import tile_frontend.language as T
from tile_cpu.emulator import Emulator, options
from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.manifest import MANIFEST
from tile_cuda.pipeline import pipeline
from tile_ir.diag import TileError
from tile_ir.text import parse_module
from tile_passes.base import PassContext, State

PROGRAMS = Path(__file__).parents[2] / "packages" / "tile-cuda" / "tests" / "programs"
SCHEDULES = (
    {"schedule": "round-robin"},
    {"schedule": "reverse"},
    {"schedule": "random", "seed": 1},
)
BOUNDS, ALIGNMENT, UNKNOWN, RACE = "E2303", "E2304", "E2305", "E2306"
DEADLOCK, DIVERGENCE, BARRIER, FENCE = "E2307", "E2308", "E2309", "E2311"


@T.prim_func
def pipelined(
    A: T.Tensor((128, 192), "float16"),
    B: T.Tensor((192, 128), "float16"),
    C: T.Tensor((128, 128), "float32"),
):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        A_s = T.alloc_shared((64, 32), "float16")
        B_s = T.alloc_shared((32, 64), "float16")
        C_l = T.alloc_fragment((64, 64), "float32")
        T.clear(C_l)
        for k in T.Pipelined(6, num_stages=3):
            T.copy(A[by * 64, k * 32], A_s)
            T.copy(B[k * 32, bx * 64], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * 64, bx * 64])


@dataclass(frozen=True)
class Fault:
    """Text that is replaced, for the first `times` times (0: all, -1: the last one); what is
    reported, and the user's line."""

    name: str
    old: str
    new: str
    code: str
    line: str
    times: int = 1
    other: tuple[str, str] | None = None
    """What another order of the threads may find first: code and line."""


def planted(artifact, fault):
    source = artifact.source
    assert fault.old in source, f"{fault.old} is not in the generated code"
    if fault.times >= 0:
        return replace(artifact, source=source.replace(fault.old, fault.new, fault.times or -1))
    *before, last = source.rsplit(fault.old, -fault.times)
    return replace(artifact, source=fault.old.join(before[:1]) + fault.new + last)


def check(artifact, target, arrays, dims, fault, path):
    emulator = Emulator(MANIFEST, target)
    emulator.compile(planted(artifact, fault), path)
    run = emulator.load(None, path)
    for how in SCHEDULES:
        with options(**how), pytest.raises(TileError) as caught:
            run(*(a.ctypes.data for a in arrays), *dims)
        error = caught.value
        found = error.code, error.span.text().strip()
        assert found in ((fault.code, fault.line), fault.other), how


A_LINE, B_LINE = "T.copy(A[by * 64, k * 32], A_s)", "T.copy(B[k * 32, bx * 64], B_s)"
PRODUCT, STORE = "T.gemm(A_s, B_s, C_l)", "T.copy(C_l, C[by * 64, bx * 64])"
SYNC = "__syncthreads();"
PIPELINED = [
    Fault("missing barrier", f"<1>();\n    {SYNC}", "<1>();", RACE, PRODUCT),
    Fault("wait count too high", "tile_copy_wait<1>", "tile_copy_wait<2>", RACE, A_LINE, 2),
    Fault("missing commit", "    tile_copy_commit();", "", UNKNOWN, STORE),
    Fault("missing wait", "tile_copy_wait<1>();", "", UNKNOWN, STORE, 2),
    Fault("ring too short", "_slot == 3", "_slot == 2", RACE, A_LINE, -1),
    Fault("read slot ahead", "A_s_ring_use_slot = 2", "A_s_ring_use_slot = 0", RACE, A_LINE),
    Fault("another swizzle", "* 8) & 24))) + (t0_2", "* 8) & 56))) + (t0_2", RACE, A_LINE),
    Fault("accumulator not cleared", "C_l[v] = 0.0f;", "", UNKNOWN, STORE),
    Fault("store a row too far", "by * 64 + t0_4", "by * 64 + t0_4 + 1", BOUNDS, STORE),
    Fault("load a row too far", "by * 64 + t0)", "by * 64 + t0 + 1)", BOUNDS, A_LINE, 0),
    Fault("shared index too far", "&B_s[(t1_1", "&B_s[8192 + (t1_1", BOUNDS, B_LINE, 0),
    Fault("misaligned vector", "* 192 + t1 +", "* 192 + t1 + 1 +", ALIGNMENT, A_LINE),
    Fault("divergent barrier", SYNC, f"if (tid % 32 < 16) {SYNC}", DIVERGENCE, PRODUCT),
]

FULL, EMPTY = "barrier_wait full[slot[]] phase parity[]", "barrier_wait empty[at[]] phase turn[]"
ARRIVE, OUT = (
    "barrier_arrive empty[last[]]",
    ("box_store C_s[g * 2 + j % 2, :, :] -> C[by * 128 + g * 64 : +64, bx * 256 + j * 64 : +64]"),
)
ATOM = (
    "atom m64nNk16_f16 A_s[slot[], g * 64 : +64, kk * 16 : +16], B_s[slot[], kk * 16 : +16, :]"
    " -> c[:] init = k + kk == 0"
)
EXPECT = "barrier_expect full[at[]] bytes 49152"
LOAD_B = (
    "box_load B[k * 64 : +64, bx * 256 + j * 64 : +64] -> B_s[at[], :, j * 64 : +64]"
    " onto full[at[]]"
)
LOAD_A = "box_load A[by * 128 : +128, k * 64 : +64] -> A_s[at[], :, :] onto full[at[]]"
FRAGMENT = (
    "matrix_store h[:] -> C_f[(g * 2 + j % 2) * 4096 + row * 64"
    " + (jj * 2 + w % 32 // 16 ^ row % 8) * 8 : +8]"
)
GROUP = "tile_named_sync(1 + (int)threadIdx.x / 128, 128);"
EMPTIES, FULLS = "tile_phase_init(&empty[i]", "tile_phase_init(&full[i]"
ROLES = [
    Fault("consumers a phase ahead", "int parity = 0;", "int parity = 1;", BARRIER, EXPECT),
    Fault("producer a phase behind", "int turn = 1;", "int turn = 0;", DEADLOCK, FULL),
    Fault("parity never turns", "parity ^ 1 : parity", "parity : parity", BARRIER, EXPECT),
    Fault("more arrivals wanted", f"{EMPTIES}, 2)", f"{EMPTIES}, 3)", DEADLOCK, FULL),
    Fault(
        "fewer arrivals wanted",
        f"{EMPTIES}, 2)",
        f"{EMPTIES}, 1)",
        RACE,
        LOAD_A,
        1,
        (DEADLOCK, FULL),
    ),
    Fault("nobody else arrives", f"{FULLS}, 1)", f"{FULLS}, 2)", DEADLOCK, FULL),
    Fault("more bytes expected", "[at], 49152)", "[at], 49168)", DEADLOCK, FULL),
    Fault("fewer bytes expected", "[at], 49152)", "[at], 32768)", RACE, LOAD_B, 1, (RACE, LOAD_A)),
    Fault("released before it was read", "tile_wgmma_wait<1>", "tile_wgmma_wait<2>", RACE, LOAD_A),
    Fault("no commit of products", "tile_wgmma_commit();", "", RACE, LOAD_A, 1, (RACE, LOAD_B)),
    Fault("no wait for products", "tile_wgmma_wait<0>();", "", BARRIER, ATOM),
    Fault("another stride of columns", "(B_s, 8192, 1024)", "(B_s, 16384, 1024)", RACE, LOAD_B),
    Fault("no fence for engines", "tile_fence_async();", "", FENCE, OUT),
    Fault("no barrier before the store", GROUP, "", RACE, OUT, -1),
    Fault("no barrier before the refill", GROUP, "", RACE, OUT, 1, (RACE, FRAGMENT)),
    Fault("refilled while it is stored", "tile_bulk_wait_read<1>();", "", RACE, OUT),
    Fault("no commit of stores", "tile_bulk_commit();", "", BARRIER, OUT),
    Fault("no wait for stores", "tile_bulk_wait<0>();", "", BARRIER, OUT),
    Fault("a barrier of half warps", GROUP, GROUP.replace("128)", "112)"), BARRIER, "sync group"),
    Fault("a barrier of both groups", GROUP, GROUP.replace("128)", "256)"), DEADLOCK, "sync group"),
    Fault("a fragment outside", "&C_f[(g * 2", "&C_f[(g * 2 + 9", BOUNDS, FRAGMENT),
    Fault("a box at an odd place", "&A_s[at * 8192]", "&A_s[at * 8192 + 8]", ALIGNMENT, LOAD_A),
]


def names(faults):
    return [pytest.param(f, id=f.name.replace(" ", "-")) for f in faults]


@pytest.fixture(scope="module")
def pipeline_of_copies():
    """Copies by threads ahead of products of warps, as this package schedules them."""
    target = spec.load("sm_80")
    state = State(function=pipelined.function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=target, pins={}))
    arrays = [np.ones(s, np.float16) for s in ((128, 192), (192, 128))]
    return emit(state.function, target), target, [*arrays, np.zeros((128, 128), np.float32)], ()


@pytest.fixture(scope="module")
def roles():
    """One warp group copies in bulk, two multiply and store."""
    target, path = spec.load("sm_90a"), PROGRAMS / "gemm_nn.tir"
    fn = parse_module(path.read_text(), str(path)).functions[0]
    dims = m, n, k = 128, 256, 64 * 10
    arrays = [np.ones(s, np.float16) for s in ((m, k), (k, n))]
    return emit(fn, target), target, [*arrays, np.zeros((m, n), np.float16)], dims


def test_without_a_mistake(nvrtc, pipeline_of_copies, roles, tmp_path):
    for n, (artifact, target, arrays, dims) in enumerate((pipeline_of_copies, roles)):
        emulator, path = Emulator(MANIFEST, target), tmp_path / f"{n}.so"
        emulator.compile(artifact, path)
        run = emulator.load(None, path)
        for how in SCHEDULES:
            arrays[-1][:] = 0
            with options(**how):
                run(*(a.ctypes.data for a in arrays), *dims)
            assert np.all(arrays[-1] == arrays[0].shape[1])


@pytest.mark.parametrize("fault", names(PIPELINED))
def test_in_a_pipeline_of_copies(nvrtc, pipeline_of_copies, tmp_path, fault):
    check(*pipeline_of_copies, fault, tmp_path / "kernel.so")


@pytest.mark.parametrize("fault", names(ROLES))
def test_in_a_program_of_roles(nvrtc, roles, tmp_path, fault):
    check(*roles, fault, tmp_path / "kernel.so")


def test_more_shared_memory_than_there_is(nvrtc, pipeline_of_copies, tmp_path):
    artifact, target, _, _ = pipeline_of_copies
    greedy = replace(artifact, host=artifact.host.replace("24576", str(200 << 10)))
    emulator, path = Emulator(MANIFEST, target), tmp_path / "kernel.so"
    emulator.compile(greedy, path)
    with pytest.raises(TileError, match="needs 204800 bytes") as caught:
        emulator.load(None, path)
    assert caught.value.code == "E2313"
