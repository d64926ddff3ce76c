"""Kernels in which all blocks of the grid wait for each other."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError

ROWS, COLUMNS = 64, 32


def mirrored():
    """A block reads what another one wrote; names and tiles of before are used behind."""

    @T.prim_func
    def main(
        A: T.Tensor((ROWS, COLUMNS), T.float32),
        B: T.Tensor((ROWS, COLUMNS), T.float32),
        C: T.Tensor((ROWS, COLUMNS), T.float32),
    ):
        with T.Kernel(ROWS, threads=32) as bx:
            other = ROWS - 1 - bx
            S = T.alloc_shared((COLUMNS,), T.float32)
            F = T.alloc_fragment((COLUMNS,), T.float32)
            scale = A[bx, 0]
            T.copy(A[bx, 0:COLUMNS], S)
            T.copy(S, F)
            for i in T.Parallel(COLUMNS):
                F[i] = F[i] * 2.0
            T.copy(F, B[bx, 0:COLUMNS])
            T.sync_grid()
            T.copy(B[other, 0:COLUMNS], F)
            for i in T.Parallel(COLUMNS):
                C[bx, i] = F[i] + S[i] + scale

    return main


def test_what_is_read_again_is_no_array_that_is_written():
    """A is brought again behind the meeting: another name for B would have other contents then."""
    program = mirrored()
    kernel = tile.compile(program, target="cpu")
    a = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    b, c = np.zeros_like(a), np.zeros_like(a)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, 2 * a[::-1] + a + a[:, :1])
    for arguments in ((a, a, c), (a, b, a)):
        with pytest.raises(TileError, match="share memory") as caught:
            kernel(*arguments)
        assert caught.value.code == "E2018"
        assert "reads A again behind T.sync_grid" in caught.value.notes[1]
    assert "unchanged = (A)" in kernel.ir
    kernel(a, b, b)  # C is read by nobody


def halvings():
    """A sum of all rows in steps, between which everyone waits."""

    @T.prim_func
    def main(A: T.Tensor((8, COLUMNS), T.int32)):
        with T.Kernel(4, threads=32) as bx:
            for step in range(3):
                if step > 0:
                    T.sync_grid()
                half = 4 >> step
                if bx < half:
                    for i in T.Parallel(COLUMNS):
                        A[bx, i] = A[bx, i] + A[bx + half, i]

    return main


def by_threads():
    """Numbers of threads are there in every part; an array of a thread is written anew."""

    @T.prim_func
    def main(A: T.Tensor((4, 32), T.float32), B: T.Tensor((4, 32), T.float32)):
        with T.Kernel(4, threads=32) as bx:
            tx = T.get_thread_binding()
            i = (tx * 7) % 32
            v = T.alloc_local((1,), T.float32)
            v[0] = A[bx, i] * 2.0
            B[bx, i] = v[0]
            T.sync_grid()
            v[0] = B[3 - bx, tx]
            A[bx, tx] = v[0] + T.cast(i, T.float32)

    return main


def test_threads_of_both_parts(run):
    a = np.arange(128, dtype=np.float32).reshape(4, 32)
    outcome = run(by_threads(), a, np.zeros_like(a))
    np.testing.assert_array_equal(outcome.args[0], 2 * a[::-1] + np.arange(32) * 7 % 32)


def test_what_others_wrote_is_there(run):
    a = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    outcome = run(mirrored(), a, np.zeros_like(a), np.zeros_like(a))
    np.testing.assert_array_equal(outcome.args[2], 2 * a[::-1] + a + a[:, :1])


def test_several_meetings(run):
    a = np.arange(8 * COLUMNS, dtype=np.int32).reshape(8, COLUMNS)
    outcome = run(halvings(), a)
    np.testing.assert_array_equal(outcome.args[0][0], a.sum(0))


def test_the_parts_are_kernels_that_compute_anew_what_they_need():
    text = mirrored().script()
    first, second = text.split("kernel @main_part2")
    assert "copy A[bx, :] -> S[:]" in first
    assert "copy A[bx_1, :] -> S_1[:]" in second  # of what the kernel does not write
    assert "* 2.0" not in second  # overwritten before it is read
    assert "-> B[" not in second


def kernel_with(body):
    @T.prim_func
    def main(A: T.Tensor((4, 32), T.float32), B: T.Tensor((4, 32), T.float32)):
        with T.Kernel(4, threads=32) as bx:
            S = T.alloc_shared((32,), T.float32)
            body(A, B, S, bx)

    return main


def read_of_what_is_written(A, B, S, bx):
    T.copy(B[bx, 0:32], S)
    T.fill(B[bx, 0:32], 1.0)
    T.sync_grid()
    T.copy(S, A[bx, 0:32])


def old_value_of_an_update(A, B, S, bx):
    old = T.atomic_add(B[bx, 0], 1.0, return_prev=True)
    T.sync_grid()
    A[bx, 0] = old


def barrier_of_both_parts(A, B, S, bx):
    bar = T.alloc_barrier(32)
    T.barrier_arrive(bar)
    T.sync_grid()
    T.barrier_wait(bar, 0)


@T.macro
def in_a_loop(A, B, S, bx):
    for k in T.serial(2):
        A[bx, k] = 0.0
        T.sync_grid()


@pytest.mark.parametrize(
    "body", [read_of_what_is_written, old_value_of_an_update, barrier_of_both_parts, in_a_loop]
)
def test_what_cannot_outlive_it_is_refused(body):
    with pytest.raises(TileError) as caught:
        kernel_with(body)
    assert caught.value.code == "E1517"
    assert caught.value.span is not None
    assert caught.value.help or caught.value.notes


def views_of_one_memory():
    """What is written by one name of a buffer is there by another one."""

    @T.prim_func
    def main(
        A: T.Tensor((64,), T.float32),
        B: T.Tensor((64,), T.float32),
        C: T.Tensor((8, 8), T.float32),
        D: T.Tensor((64,), T.float32),
    ):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), T.float32)
            V = T.view(S, (8, 8))
            S2 = T.alloc_shared((64,), T.float32)
            V2 = T.view(S2, (8, 8))
            for i, j in T.Parallel(8, 8):
                V[i, j] = A[i * 8 + j] + 1.0
            T.copy(A, S2)
            T.sync_grid()
            T.copy(S, B)
            T.copy(V2, C)
            W = T.view(S, (4, 16))
            for i, j in T.Parallel(4, 16):
                W[i, j] = V2[i * 2 + j // 8, j % 8] * 2.0
            T.copy(S, D)

    return main


def test_views_of_one_memory(run):
    a = np.arange(64, dtype=np.float32)
    outcome = run(views_of_one_memory(), a, np.zeros_like(a), np.zeros((8, 8), "f4"), a * 0)
    np.testing.assert_array_equal(outcome.args[1], a + 1)
    np.testing.assert_array_equal(outcome.args[2], a.reshape(8, 8))
    np.testing.assert_array_equal(outcome.args[3], 2 * a)


def test_what_was_printed_is_not_printed_again(capfd):
    @T.prim_func
    def main(A: T.Tensor((4,), T.int32), B: T.Tensor((1,), T.int32)):
        with T.Kernel(1, threads=32):
            x = T.alloc_var(T.int32, init=0)
            for i in T.serial(4):
                x += A[i]
                if x > 2:
                    T.print(x)
            T.sync_grid()
            B[0] = x

    b = np.zeros(1, np.int32)
    tile.compile(main, target="cpu")(np.arange(4, dtype=np.int32), b)
    assert b[0] == 6
    assert capfd.readouterr().out.split() == ["3", "6"]


@T.macro
def copy_of_another_block(A, B, S, bx):
    T.clear(S)
    T.cluster_sync()
    T.copy_cluster(S, S, dst_block=1 - T.block_rank_in_cluster())
    T.cluster_sync()
    T.sync_grid()
    T.copy(S, A[bx, 0:32])


def test_what_came_from_another_block_is_not_sent_again():
    with pytest.raises(TileError, match="cannot wait for the whole grid") as caught:

        @T.prim_func
        def main(A: T.Tensor((4, 32), T.float32)):
            with T.ClusterKernel(4, cluster_dims=2, threads=32) as bx:
                copy_of_another_block(A, A, T.alloc_shared((32,), T.float32), bx)

    assert caught.value.code == "E1517"


def test_a_function_that_nobody_knows_is_not_called_again():
    with pytest.raises(TileError, match="cannot wait for the whole grid") as caught:

        @T.prim_func
        def main(A: T.Tensor((4,), T.float32)):
            with T.Kernel(4, threads=32) as bx:
                x = T.call_extern("float32", "drawn", reference=lambda: T.float32(1))
                T.sync_grid()
                A[bx] = x

    assert caught.value.code == "E1517"
