"""Kernels that name threads: one program for each thread of a block, on every target."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir import interp
from tile_ir.diag import TileError

N = T.dynamic("N")
K = T.dynamic("K")


def refused(program, code):
    """The error of a kernel that cannot be traced."""
    with pytest.raises(TileError) as caught:
        T.prim_func(program)
    assert caught.value.code == code, caught.value
    return caught.value


def test_strided_elements_by_thread(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((N,), T.float32)
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            for i in T.serial(bx * 64 + tx, N, 128):
                B[i] = A[i] * 2.0 + 1.0
        return B

    a = rng.standard_normal(1000, dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_allclose(b, a * 2 + 1, rtol=1e-6)


def test_places_on_two_axes(run):
    @T.prim_func
    def kernel(A: T.Tensor((4, 32, 4), T.int32), B: T.Tensor((8,), T.int32)):
        with T.Kernel(2, 2, threads=(16, 4)) as (bx, by):
            tx, ty, _ = T.get_thread_bindings()
            A[ty, by * 16 + tx, bx] = T.get_thread_binding(1) * 100 + T.get_thread_binding(0)
            if tx + ty + bx + by == 0:
                B[0] = T.get_thread_extent(0)
                B[1] = T.get_thread_extents()[1]
                B[2] = T.get_block_extent(1)
                B[3] = len(T.get_block_extents())
                B[4] = T.get_block_extents()[0]
                B[5] = T.get_thread_binding(2) + T.get_thread_extent(2)

    outcome = run(kernel, np.zeros((4, 32, 4), np.int32), np.zeros(8, np.int32))
    ty, tx = np.indices((4, 16))
    want = np.zeros((4, 32, 4), np.int32)
    for by in range(2):
        want[:, by * 16 : by * 16 + 16, :2] = (ty * 100 + tx)[..., None]
    np.testing.assert_array_equal(outcome.args[0], want)
    assert outcome.args[1].tolist() == [16, 4, 2, 2, 2, 1, 0, 0]


def test_arrays_and_scalars_of_a_thread(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((128, 8), T.float32), at: T.Tensor((128,), T.int32)):
        B = T.empty((128,), T.float32)
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            own = T.alloc_local((8,), T.float32)
            total = T.alloc_var(T.float32, init=0.0)
            for k in T.vectorized(8):
                own[k] = A[bx * 64 + tx, k]
            for k in T.serial(8):
                total += own[k]
                own[k] = total
            B[bx * 64 + tx] = own[at[bx * 64 + tx]]
        return B

    a = rng.standard_normal((128, 8), dtype=np.float32)
    at = rng.integers(0, 8, 128).astype(np.int32)
    (b,) = run(kernel, a, at)
    np.testing.assert_allclose(b, np.cumsum(a, axis=1)[np.arange(128), at], rtol=1e-5, atol=1e-6)


def test_copies_and_fills_of_a_thread(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N, 8), T.float16)):
        B = T.empty((N, 8), T.float32)
        with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
            tx = T.get_thread_binding()
            own = T.alloc_local((8,), T.float16)
            wide = T.alloc_local((2, 4), T.float32)
            T.copy(A[bx * 32 + tx, 0:8], own)
            T.fill(wide, 1.0)
            for i, j in T.grid(2, 4):
                wide[i, j] += own[i * 4 + j]
            T.copy(wide[0, 0:4], B[bx * 32 + tx, 0:4])
            T.copy(wide[1, 0:4], B[bx * 32 + tx, 4:8])
        return B

    a = rng.standard_normal((75, 8)).astype(np.float16)
    (b,) = run(kernel, a)
    np.testing.assert_allclose(b, a.astype(np.float32) + 1, rtol=1e-6)


def test_branches_loops_and_breaks_that_differ(run):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            n = T.alloc_var(T.int32, init=0)
            steps = T.alloc_var(T.int32, init=0)
            n = tx + 1
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
                if steps >= 20:
                    break
            if tx % 3 == 0:
                A[tx] = -steps
            elif tx % 3 == 1:
                A[tx] = steps
            else:
                A[tx] = 1000

    def collatz(n):
        steps = 0
        while n != 1 and steps < 20:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    got = run(kernel, np.zeros(64, np.int32)).args[0]
    signs = [-1, 1, 0]
    want = [1000 if t % 3 == 2 else signs[t % 3] * collatz(t + 1) for t in range(64)]
    assert got.tolist() == want


def test_values_of_others_come_through_shared_memory(run):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32), B: T.Tensor((128,), T.int32)):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            shared = T.alloc_shared((128,), T.int32)
            shared[tx] = A[tx]
            T.sync_threads()
            x = shared[127 - tx]
            T.sync_threads()
            shared[tx] = x + shared[tx]
            T.sync_threads()
            B[tx] = shared[(tx + 1) % 128]

    a = np.arange(128, dtype=np.int32) ** 2
    got = run(kernel, a, np.zeros(128, np.int32)).args[1]
    np.testing.assert_array_equal(got, np.roll(a + a[::-1], -1))


def test_a_missing_barrier_is_put_in(run):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32), B: T.Tensor((128,), T.int32)):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            shared = T.alloc_shared((128,), T.int32)
            for i in T.serial(3):
                shared[tx] = A[tx] + i
                B[tx] += shared[127 - tx]
            shared[tx] = shared[(tx + 1) % 128]
            B[tx] += shared[tx]

    a = np.arange(128, dtype=np.int32) ** 2
    got = run(kernel, a, np.zeros(128, np.int32)).args[1]
    np.testing.assert_array_equal(got, 3 * a[::-1] + 3 + np.roll(a + 2, -1))


def test_a_block_sums_in_shared_memory(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((1,), T.float32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            part = T.alloc_shared((128,), T.float32)
            acc = T.alloc_local((1,), T.float32)
            T.clear(acc)
            for i in T.serial(T.ceildiv(N, 128)):
                acc[0] += A[i * 128 + tx]
            part[tx] = acc[0]
            T.sync_threads()
            for s in T.unroll(7):
                if tx < (64 >> s):
                    part[tx] += part[tx + (64 >> s)]
                T.sync_threads()
            if tx == 0:
                B[0] = part[0]
        return B

    a = rng.standard_normal(1000, dtype=np.float32)
    (b,) = run(kernel, a, atol=1e-4)
    np.testing.assert_allclose(b, [a.sum(dtype=np.float64)], atol=1e-4)


def test_a_tile_is_transposed_by_threads(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N, K), T.float32)):
        B = T.empty((K, N), T.float32)
        with T.Kernel(T.ceildiv(K, 16), T.ceildiv(N, 16), threads=(16, 8)) as (bx, by):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            tile_s = T.alloc_shared((16, 17), T.float32)
            for i in T.serial(2):
                tile_s[ty + i * 8, tx] = A[by * 16 + ty + i * 8, bx * 16 + tx]
            T.sync_threads()
            for i in T.serial(2):
                B[bx * 16 + ty + i * 8, by * 16 + tx] = tile_s[tx, ty + i * 8]
        return B

    a = rng.standard_normal((37, 50), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.T)


def test_atomics_and_what_they_return(place):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), count: T.Tensor((4,), T.int32)):
        out = T.empty((N,), T.int32)
        with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
            tx = T.get_thread_binding()
            i = bx * 64 + tx
            if i < N:
                T.atomic_add(count[A[i] % 3], 1)
                place = T.atomic_add(count[3], 1, return_prev=True)
                out[place] = A[i]
        return out

    a = np.arange(100, dtype=np.int32) * 7
    count = np.zeros(4, np.int32)
    (out,) = place.called(place.compiled(kernel), [a, count])
    assert sorted(out.tolist()) == a.tolist()
    assert count.tolist() == [*np.bincount(a % 3).tolist(), 100]


def test_what_names_no_thread_is_done_once(run):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32), count: T.Tensor((3,), T.int32)):
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            shared = T.alloc_shared((4,), T.int32)
            for i in T.serial(4):
                shared[i] = i * 10
                if tx == i:
                    T.atomic_add(count[1], 1)
            T.atomic_add(count[0], 1)
            if tx < 5:
                T.atomic_add(count[2], 1)
            A[bx * 64 + tx] = shared[tx % 4]

    got = run(kernel, np.zeros(128, np.int32), np.zeros(3, np.int32)).args
    assert got[1].tolist() == [2, 8, 10]
    assert got[0].tolist() == [0, 10, 20, 30] * 32


def test_barriers_that_count(run):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32)):
        B = T.empty((3, 128), T.int32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            B[0, tx] = T.syncthreads_count(A[tx] > 3)
            B[1, tx] = T.syncthreads_and(A[tx] > 3)
            B[2, tx] = T.syncthreads_or(A[tx] > 3)
        return B

    a = np.arange(128, dtype=np.int32) % 6
    (b,) = run(kernel, a)
    assert b[0].tolist() == [int((a > 3).sum())] * 128
    assert b[1].tolist() == [0] * 128
    assert b[2].tolist() == [1] * 128


def test_sums_along_an_axis_of_threads(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N, K), T.float16), x: T.Tensor((K,), T.float16)):
        y = T.empty((N,), T.float16)
        with T.Kernel(T.ceildiv(N, 4), threads=(4, 32)) as bn:
            tn, tk = T.get_thread_binding(0), T.get_thread_binding(1)
            own = T.alloc_local((2,), T.float16)
            acc = T.alloc_local((1,), T.float32)
            total = T.alloc_local((1,), T.float32)
            T.clear(acc)
            for bk in T.serial(T.ceildiv(K, 64)):
                for k in T.vectorized(2):
                    own[k] = A[bn * 4 + tn, bk * 64 + tk * 2 + k]
                for k in T.serial(2):
                    acc[0] += own[k].astype(T.float32) * x[bk * 64 + tk * 2 + k].astype(T.float32)
            with T.attr(
                T.comm_reducer(lambda a, c: a + c, [T.cast(0, T.float32)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(
                    T.tvm_thread_allreduce(T.uint32(1), acc[0], True, total[0], tk, dtype="handle")
                )
            if tk == 0:
                y[bn * 4 + tn] = total[0]
        return y

    a = rng.standard_normal((10, 150)).astype(np.float16)
    x = rng.standard_normal(150).astype(np.float16)
    (y,) = run(kernel, a, x, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(y, a.astype(np.float64) @ x.astype(np.float64), rtol=1e-2, atol=2e-2)


def test_a_loop_bound_to_an_axis_of_threads(run):
    @T.prim_func
    def kernel(A: T.Tensor((4, 16), T.int32)):
        with T.Kernel(1, threads=(16, 4)):
            for ty in T.thread_binding(0, 4, thread="threadIdx.y"):
                for tx in T.thread_binding(10, thread="threadIdx.x"):
                    A[ty, tx] = ty * 16 + tx

    got = run(kernel, np.full((4, 16), -1, np.int32)).args[0]
    ty, tx = np.indices((4, 16))
    np.testing.assert_array_equal(got, np.where(tx < 10, ty * 16 + tx, -1))


def test_tile_operations_beside_threads(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), T.float16), B: T.Tensor((64, 32), T.uint8)):
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a_s = T.alloc_shared((64, 32), T.float16)
            packed = T.alloc_shared((32, 32), T.uint8)
            b_s = T.alloc_shared((32, 64), T.float16)
            acc = T.alloc_fragment((64, 64), T.float32)
            own = T.alloc_local((8,), T.uint8)
            wide = T.alloc_local((16,), T.float16)
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 32], a_s)
                T.copy(B[k * 32, 0], packed)
                for v in T.vectorized(8):
                    own[v] = packed[tx // 4, tx % 4 * 8 + v]
                for v in T.serial(8):
                    wide[2 * v] = T.cast(own[v] & 15, T.float16)
                    wide[2 * v + 1] = T.cast(own[v] >> 4, T.float16)
                for v in T.vectorized(16):
                    b_s[tx // 4, tx % 4 * 16 + v] = wide[v]
                T.gemm(a_s, b_s, acc)
            T.copy(acc, C)
        return C

    a = rng.standard_normal((64, 64)).astype(np.float16)
    packed = rng.integers(0, 256, (64, 32)).astype(np.uint8)
    (c,) = run(kernel, a, packed, rtol=1e-3, atol=1e-2)
    b = np.stack([packed & 15, packed >> 4], axis=-1).reshape(64, 64).astype(np.float64)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-2)


def test_a_softmax_with_loops_that_differ(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((N,), T.float32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            part = T.alloc_shared((128,), T.float32)
            largest = T.alloc_var(T.float32, init=-1e30)
            total = T.alloc_var(T.float32, init=0.0)
            step = T.alloc_var(T.int32, init=64)
            for i in T.serial(tx, N, 128):
                largest = T.max(largest, A[i])
            part[tx] = largest
            while step > 0:
                if tx < step:
                    part[tx] = T.max(part[tx], part[tx + step])
                T.sync_threads()
                step = step // 2
            top = part[0]
            T.sync_threads()
            for i in T.serial(tx, N, 128):
                total += T.exp(A[i] - top)
            part[tx] = total
            step = 64
            while step > 0:
                if tx < step:
                    part[tx] += part[tx + step]
                T.sync_threads()
                step = step // 2
            for i in T.serial(tx, N, 128):
                B[i] = T.exp(A[i] - top) / part[0]
        return B

    a = rng.standard_normal(300, dtype=np.float32)
    (b,) = run(kernel, a, rtol=1e-4, atol=1e-6)
    e = np.exp(a.astype(np.float64) - a.max())
    np.testing.assert_allclose(b, e / e.sum(), rtol=1e-4)


# -- what is refused


def test_a_barrier_in_a_branch_of_some_threads_is_refused():
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx < 16:
                A[tx] = 1
                T.sync_threads()
                A[tx] = 2

    error = refused(kernel, "E1521")
    assert "barrier of the block" in error.message
    assert error.span is not None


def test_a_counting_barrier_in_a_branch_is_refused():
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if tx < 16:
                A[tx] = T.syncthreads_count(tx > 3)

    refused(kernel, "E1521")


def test_a_barrier_in_a_while_loop_that_threads_leave_apart_is_refused():
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            n = T.alloc_var(T.int32, init=0)
            while n < tx:
                n += 1
                T.sync_threads()
            A[tx] = n

    refused(kernel, "E1521")


def test_tiles_that_depend_on_a_thread_are_refused():
    def parallel(A: T.Tensor((64, 64), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_local((1,), T.int32)
            own[0] = tx
            for i in T.Parallel(64):
                A[0, i] = own[0]

    def reduction(A: T.Tensor((64, 64), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            own = T.alloc_local((8,), T.int32)
            out = T.alloc_local((1,), T.int32)
            for k in T.serial(8):
                own[k] = tx
            T.reduce_sum(own, out)
            A[0, tx] = out[0]

    for program in (parallel, reduction):
        refused(program, "E1521")


def test_axes_sizes_and_masks_that_do_not_exist_are_refused():
    def axis(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            A[T.get_thread_binding(3)] = 0

    def width(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            A[tx] = T.shfl_sync(tx, 0, width=12)

    def lane(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            A[tx] = T.shfl_sync(tx, 0.5)

    def mask(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            A[tx] = T.any_sync(tx, tx)

    def trips(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            for t in T.thread_binding(0, 65, thread="threadIdx.x"):
                A[t] = 0

    refused(axis, "E1303")
    for program in (width, lane, mask, trips):
        refused(program, "E1522")


def test_an_index_beyond_the_tile_of_a_block_is_refused():
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            small = T.alloc_shared((32,), T.int32)
            small[tx] = tx
            A[tx] = small[tx // 2]

    error = refused(kernel, "E1204")
    assert "index 32 of thread 32" in error.message


def test_an_index_that_data_lead_beyond_a_tile_is_found():
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            small = T.alloc_shared((32,), T.int32)
            small[A[tx]] = tx

    with pytest.raises(TileError) as caught:
        interp.run(kernel.function, {"A": np.arange(64, dtype=np.int32)})
    assert caught.value.code == "E0502"


def test_guarded_indices_beyond_a_tile_are_none(run):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            small = T.alloc_shared((32,), T.int32)
            if tx < 32:
                small[tx] = tx * 2
            A[tx] = small[tx] if tx < 32 else -1

    got = run(kernel, np.zeros(64, np.int32)).args[0]
    assert got.tolist() == [t * 2 if t < 32 else -1 for t in range(64)]
