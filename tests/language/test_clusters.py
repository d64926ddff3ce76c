"""Blocks of a cluster: what they do to each other's memory and barriers."""

from pathlib import Path

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_cuda import spec
from tile_cuda.nvrtc import find_nvrtc
from tile_cuda.pipeline import pipeline as passes
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.testing.by_path import module_at
from tile_passes.base import PassContext, State
from tile_passes.manager import run_pipeline

kernels = module_at(Path(__file__).with_name("cluster_kernels.py"))
CASES = kernels.cases()
DEVICE = "cuda -arch=sm_90a"
needs_compiler = pytest.mark.skipif(
    find_nvrtc() is None, reason="nvidia-cuda-nvrtc is not installed"
)


def interpreted(function, args, **how):
    """What the oracle makes of the last argument."""
    names = [p.name for p in function.params]
    return run(function, dict(zip(names, args, strict=True)), **how)[names[-1]]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("schedule", ["late", "issue"])
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_in_the_oracle(name, schedule, order):
    make, args, want = CASES[name]
    got = interpreted(make().function, args, schedule=schedule, order=order)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", CASES)
def test_the_program_of_one_thread_in_the_oracle(name):
    make, args, want = CASES[name]
    target = spec.load("sm_90a")
    start = State(function=make().function)
    made = run_pipeline(passes(), start, PassContext(target=target)).state.function
    np.testing.assert_array_equal(interpreted(made, args, target=target), want)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_in_the_emulator(name):
    make, args, want = CASES[name]
    kernel = tile.compile(make(), target=DEVICE, device="emulator")
    given = [a.copy() for a in args]
    kernel(*given)
    np.testing.assert_array_equal(given[-1], want)
    assert "__cluster_dims__" in kernel.get_kernel_source()


@needs_compiler
def test_what_is_emitted():
    source = tile.compile(kernels.multicast(), target=DEVICE, device="emulator")
    _, text = source.get_kernel_source().split("__global__")
    assert text.count("tile_box_multicast_2d(") == 1  # by the first block of a cluster only
    assert "tile_cluster_rank() == 0" in text
    source = tile.compile(kernels.sent(), target=DEVICE, device="emulator")
    _, text = source.get_kernel_source().split("__global__")
    assert "tile_send_peer<" in text
    assert "tile_phase_wait_wide(&come[0], 0);" in text
    assert text.count("tile_cluster_wait();") == 2  # barriers are known; memory stays to the end


@pytest.mark.parametrize("target", ["cpu", "cuda -arch=sm_80"])
def test_blocks_that_see_each_other_need_clusters(target):
    device = {} if target == "cpu" else {"device": "emulator"}
    with pytest.raises(TileError) as caught:
        tile.compile(kernels.exchange(), target=target, **device)
    assert caught.value.code == "E0712"
    assert "clusters of 2" in caught.value.message
    assert caught.value.span is not None


@pytest.mark.parametrize("meet", [False, True])
def test_clusters_larger_than_the_devices(meet):
    @T.prim_func
    def main(A: T.Tensor((32,), T.int32)):
        with T.ClusterKernel(32, cluster_dims=16, threads=32) as bx:
            if meet:
                T.cluster_sync()
            A[bx] = T.block_rank_in_cluster()

    if meet:
        with pytest.raises(TileError, match="clusters of at most 8 blocks") as caught:
            tile.compile(main, target=DEVICE, device="emulator")
        assert caught.value.code == "E0712"
    else:
        a = np.zeros(32, np.int32)
        tile.compile(main, target="cpu")(a)
        assert a.tolist() == [*range(16)] * 2


def apart(extent=6):
    @T.prim_func
    def main(A: T.Tensor((6, 32), T.float32), R: T.Tensor((6,), T.int32)):
        with T.ClusterKernel(extent, cluster_dims=(3, 1, 1), threads=64) as bx:
            for i in T.Parallel(32):
                A[bx, i] = A[bx, i] * 2.0
            R[bx] = T.block_rank_in_cluster()

    return main


@pytest.mark.parametrize("target", ["cpu", "cuda -arch=sm_80", DEVICE])
def test_blocks_that_have_nothing_to_do_with_each_other_run_everywhere(target):
    if target != "cpu" and find_nvrtc() is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    device = {} if target == "cpu" else {"device": "emulator"}
    a, r = np.arange(192, dtype=np.float32).reshape(6, 32), np.full(6, -1, np.int32)
    want = 2 * a
    tile.compile(apart(), target=target, **device)(a, r)
    np.testing.assert_array_equal(a, want)
    assert r.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_grid_that_is_no_multiple():
    with pytest.raises(TileError) as caught:
        apart(extent=5)
    assert caught.value.code == "E1303"
    assert "5 is no multiple of the cluster's 3" in caught.value.message


def test_a_grid_that_is_no_multiple_when_it_is_launched():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), T.int32)):
        with T.ClusterKernel(n, cluster_dims=2, threads=32) as bx:
            A[bx] = bx

    kernel = tile.compile(main, target="cpu")
    a = np.zeros(4, np.int32)
    kernel(a)
    assert a.tolist() == [0, 1, 2, 3]
    with pytest.raises(TileError, match="a multiple of 2 blocks"):
        kernel(np.zeros(5, np.int32))


def test_without_waiting_a_neighbours_tile_is_not_there():
    @T.prim_func
    def main(B: T.Tensor((2, 64), T.float32)):
        with T.ClusterKernel(2, cluster_dims=2, threads=64) as bx:
            S = T.alloc_shared((64,), T.float32)
            R = T.alloc_shared((64,), T.float32)
            come = T.alloc_cluster_barrier(64)
            T.fill(S, 1.0)
            T.copy_cluster(S, R, dst_block=1 - bx, remote_barrier=come)
            T.copy(R, B[bx, 0:64])

    got = interpreted(main.function, (np.zeros((2, 64), np.float32),))
    assert np.isnan(got).all()


def read_early(meet):
    @T.prim_func
    def main(B: T.Tensor((2, 64), T.int32)):
        with T.ClusterKernel(2, cluster_dims=2, threads=64) as bx:
            S = T.alloc_shared((64,), T.int32)
            R = T.alloc_shared((64,), T.int32)
            T.fill(S, 1)
            T.fill(R, 0)
            T.cluster_sync()
            T.copy_cluster(S, R, dst_block=1 - bx)
            T.cluster_sync() if meet == "before" else None
            for i in T.Parallel(64):
                B[bx, i] = R[i]
            T.cluster_sync() if meet == "behind" else None

    return main


def test_what_a_neighbour_wrote_is_seen_after_a_meeting():
    given = (np.zeros((2, 64), np.int32),)
    assert (interpreted(read_early("before").function, given) == 1).all()
    with pytest.raises(TileError, match="never written") as caught:
        interpreted(read_early("behind").function, given)
    assert caught.value.code == "E0503"


def test_a_copy_to_a_neighbour_that_nothing_tells_of():
    with pytest.raises(TileError, match="R has come") as caught:
        tile.compile(read_early("never"), target=DEVICE, device="emulator")
    assert (caught.value.code, caught.value.span is not None) == ("E0469", True)


BAD = {
    "rank": ("E1513", lambda S, bar: T.mbarrier_arrive(T.alloc_cluster_barrier(1), 2)),
    "barrier of a block": ("E1513", lambda S, bar: T.mbarrier_arrive(bar, 0)),
    "mask": ("E1514", lambda S, bar: T.copy_cluster(S, S, cluster_mask=4)),
    "both": ("E1514", lambda S, bar: T.copy_cluster(S, S, dst_block=0, cluster_mask=1)),
    "neither": ("E1514", lambda S, bar: T.copy_cluster(S, S)),
    "bytes": ("E1513", lambda S, bar: T.mbarrier_expect_tx(bar, 0)),
    "other arrivals": ("E1513", lambda S, bar: T.ptx_init_barrier_thread_count(bar, 7)),
    "arrivals of another barrier": (
        "E1513",
        lambda S, bar: T.ptx_init_barrier_thread_count(T.alloc_barrier([64, 128])[0], 128),
    ),
    "more than a row": (
        "E1514",
        lambda S, bar: T.ptx_cp_async(T.view(S, (4, 8))[0, 4], T.alloc_global((8,), T.int32)[0], 8),
    ),
    "fragment": (
        "E1514",
        lambda S, bar: T.copy_cluster(T.alloc_fragment((32,), T.int32), S, dst_block=0),
    ),
    "swizzle": ("E1416", lambda S, bar: T.use_swizzle(4)),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes(name):
    code, mistake = BAD[name]
    with pytest.raises(TileError) as caught:

        @T.prim_func
        def main(A: T.Tensor((4,), T.int32)):
            with T.ClusterKernel(4, cluster_dims=2, threads=32) as bx:
                S = T.alloc_shared((32,), T.int32)
                bar = T.alloc_barrier(1)
                mistake(S, bar)

    assert caught.value.code == code
    assert caught.value.help


@T.macro
def in_one_branch(bx):
    T.cluster_arrive()
    if bx < 2:
        T.cluster_wait()


HALVES = {
    "no wait": lambda bx: T.cluster_arrive(),
    "no arrival": lambda bx: T.cluster_wait(),
    "two arrivals": lambda bx: (T.cluster_arrive(), T.cluster_arrive(), T.cluster_wait()),
    "between the halves": lambda bx: (T.cluster_arrive(), T.cluster_sync(), T.cluster_wait()),
    "a wait in one branch": in_one_branch,
}


@pytest.mark.parametrize("name", HALVES)
def test_halves_of_a_barrier_follow_one_another(name):
    @T.prim_func
    def main(A: T.Tensor((4,), T.int32)):
        with T.ClusterKernel(4, cluster_dims=2, threads=32) as bx:
            HALVES[name](bx)
            A[bx] = 1

    with pytest.raises(TileError) as caught:
        tile.compile(main, target="cpu")
    assert caught.value.code == "E0468"
    assert caught.value.span is not None


def test_a_loop_may_wait_for_what_arrived_before_it():
    @T.prim_func
    def main(A: T.Tensor((4,), T.int32)):
        with T.ClusterKernel(4, cluster_dims=2, threads=32) as bx:
            T.cluster_arrive()
            for k in T.serial(3):
                T.cluster_wait()
                A[bx] = k
                T.cluster_arrive()
            T.cluster_wait()

    a = np.zeros(4, np.int32)
    tile.compile(main, target="cpu")(a)
    assert a.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("use", [lambda: T.cluster_sync(), lambda: T.alloc_cluster_barrier(1)])
def test_outside_of_a_cluster(use):
    with pytest.raises(TileError) as caught:

        @T.prim_func
        def main(A: T.Tensor((4,), T.int32)):
            with T.Kernel(4, threads=32) as bx:
                use()

    assert caught.value.code == "E1513"
    assert "T.ClusterKernel" in caught.value.help
