"""Copies: every pair of scopes, regions and starts of tiles, edges of tensors and beyond."""

from itertools import product

import numpy as np
import pytest

import tile_frontend.language as T

ON_CHIP = {
    "shared": T.alloc_shared,
    "fragment": T.alloc_fragment,
    "local": T.alloc_local,
}


@pytest.mark.parametrize(("first", "second"), list(product(ON_CHIP, ON_CHIP)))
def test_every_pair_of_scopes(run, rng, first, second):
    """Global to the first, to the second, to global; the types differ all the way."""

    @T.prim_func
    def kernel(A: T.Tensor((48, 40), T.float32)):
        B = T.empty((48, 40), T.float32)
        with T.Kernel(3) as bx:
            x = ON_CHIP[first]((16, 40), T.float16)
            y = ON_CHIP[second]((16, 40), T.float32)
            T.copy(A[bx * 16, 0], x)
            T.copy(x, y)
            T.copy(y, B[bx * 16, 0])
        return B

    a = rng.standard_normal((48, 40), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.astype(np.float16).astype(np.float32))


def test_global_to_global(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((30, 20), T.int32)):
        B = T.empty((30, 20), T.int32)
        with T.Kernel(3) as bx:
            T.copy(A[bx * 10 : (bx + 1) * 10, :], B[bx * 10 : (bx + 1) * 10, :])
        return B

    a = rng.integers(-100, 100, (30, 20), dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a)


M, N = T.dynamic("M, N")


@pytest.mark.parametrize("shape", [(1, 1), (16, 32), (17, 33), (15, 31), (40, 65)], ids=str)
def test_partial_tiles_read_zero_and_are_not_written_back(run, rng, shape):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), T.float32), C: T.Tensor((M + 16, N + 32), T.float32)):
        B = T.empty((M, N), T.float32)
        with T.Kernel(T.ceildiv(M, 16), T.ceildiv(N, 32)) as (bx, by):
            x = T.alloc_shared((16, 32), T.float32)
            T.copy(A[bx * 16, by * 32], x)
            T.copy(x, B[bx * 16, by * 32])
            T.copy(x, C[bx * 16, by * 32])
        return B

    a = rng.standard_normal(shape, dtype=np.float32)
    c = np.full((shape[0] + 16, shape[1] + 32), 7, np.float32)
    outcome = run(kernel, a, c)
    np.testing.assert_array_equal(outcome[0], a)
    want = np.full_like(c, 7)
    # The tiles that the kernel covers, whole, hold the tensor and zeros around it.
    rows, columns = -(-shape[0] // 16) * 16, -(-shape[1] // 32) * 32
    want[:rows, :columns] = 0
    want[: shape[0], : shape[1]] = a
    np.testing.assert_array_equal(outcome.args[1], want)


def test_tiles_that_start_before_a_tensor(run):
    """A window that slides over both edges: what lies outside is zero on either side."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.float32)):
        B = T.empty((5, 4), T.float32)
        with T.Kernel(5) as bx:
            x = T.alloc_shared((4,), T.float32)
            T.copy(A[bx * 3 - 2], x)
            T.copy(x, B[bx, 0])
        return B

    a = np.arange(1, 9, dtype=np.float32)
    padded = np.concatenate([np.zeros(2), a, np.zeros(8)])
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, [padded[3 * i : 3 * i + 4] for i in range(5)])


def test_chosen_value_outside_a_tensor(run):
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.float32)):
        B = T.empty((16,), T.float32)
        C = T.empty((16,), T.float32)
        with T.Kernel(1):
            T.annotate_safe_value({A: -1.5})
            x = T.alloc_shared((16,), T.float32)
            T.copy(A[0], x)
            T.copy(x, B)
            for i in T.Parallel(16):
                C[i] = A[i - 2]
        return B, C

    a = np.arange(10, dtype=np.float32)
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, [*a, *[-1.5] * 6])
    np.testing.assert_array_equal(c, [-1.5, -1.5, *a, *[-1.5] * 4])


def test_elements_outside_a_tensor_read_zero_and_are_not_written(run):
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.int32), C: T.Tensor((M,), T.int32)):
        B = T.empty((12,), T.int32)
        with T.Kernel(1):
            for i in T.serial(12):
                B[i] = A[i - 1] + 1
                C[i - 1] = i
        return B

    a = np.arange(10, 18, dtype=np.int32)
    outcome = run(kernel, a, np.zeros(8, np.int32))
    np.testing.assert_array_equal(outcome[0], [1, *(a + 1), 1, 1, 1])
    np.testing.assert_array_equal(outcome.args[1], np.arange(1, 9))


def test_negative_constant_indices_count_from_the_end(run):
    @T.prim_func
    def kernel(A: T.Tensor((M, 6), T.int32)):
        B = T.empty((6,), T.int32)
        C = T.empty((4,), T.int32)
        with T.Kernel(1):
            for i in T.Parallel(6):
                B[i] = A[-1, -1 - i]
            T.copy(A[-2, -4:-1], C[0:3])
            C[-1] = A[-3, -6]
        return B, C

    a = np.arange(42, dtype=np.int32).reshape(7, 6)
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, a[-1, ::-1])
    np.testing.assert_array_equal(c, [*a[-2, -4:-1], a[-3, -6]])


def test_missing_bounds_of_a_slice_are_those_of_the_axis(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((8, 12), T.float32)):
        B = T.empty((8, 12), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((8, 12), T.float32)
            T.copy(A[:, :6], x[:, 6:])
            T.copy(A[:, 6:], x[:, :6])
            T.copy(x, B)
        return B

    a = rng.standard_normal((8, 12), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.concatenate([a[:, 6:], a[:, :6]], axis=1))


def test_an_ellipsis_stands_for_whole_axes(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((3, 4, 5), T.float32)):
        B = T.empty((4, 5), T.float32)
        with T.Kernel(1):
            T.copy(A[1, ...], B)
        return B

    a = rng.standard_normal((3, 4, 5), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a[1])


def test_axes_of_extent_one_come_and_go(run, rng):
    """A tile of two axes out of a tensor of four, at a fixed head and batch."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 20, 3, 8), T.float32)):
        B = T.empty((2, 3, 20, 8), T.float32)
        with T.Kernel(2, 3) as (batch, head):
            x = T.alloc_shared((20, 8), T.float32)
            T.copy(A[batch, 0:20, head, 0:8], x)
            T.copy(x, B[batch, head, 0, 0])
        return B

    a = rng.standard_normal((2, 20, 3, 8), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.transpose(0, 2, 1, 3))


def test_copy_between_elements_converts(run):
    @T.prim_func
    def kernel(A: T.Tensor((4,), T.float32)):
        B = T.empty((4,), T.int32)
        with T.Kernel(4) as i:
            T.copy(A[i], B[3 - i])
        return B

    (b,) = run(kernel, np.array([1.9, -1.9, 0.5, 7.0], np.float32))
    assert b.tolist() == [7, 0, -1, 1]


def test_a_name_of_an_element_still_starts_a_tile(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((32, 8), T.float32)):
        B = T.empty((32, 8), T.float32)
        with T.Kernel(2) as bx:
            x = T.alloc_shared((16, 8), T.float32)
            start = A[bx * 16, 0]
            T.copy(start, x)
            T.copy(x, B[bx * 16, 0])
        return B

    a = rng.standard_normal((32, 8), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a)


def test_hints_of_a_copy_change_nothing(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((32,), T.float32)):
        B = T.empty((32,), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((32,), T.float32)
            T.copy(A, x, coalesced_width=4, disable_tma=True, eviction_policy="evict_first")
            T.copy(x, B, prefer_instruction="sync", eviction_policy="evict_last")
        return B

    a = rng.standard_normal(32, dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a)


def test_gather_by_indices_in_a_tensor(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((M, 16), T.float32), rows: T.Tensor((N,), T.int32)):
        B = T.empty((N, 16), T.float32)
        with T.Kernel(N) as bx:
            row = rows[bx]
            for j in T.Parallel(16):
                B[bx, j] = A[row, j]
        return B

    a = rng.standard_normal((9, 16), dtype=np.float32)
    rows = np.array([8, 0, 3, 3, 20, -1], np.int32)
    (b,) = run(kernel, a, rows)
    want = np.where((rows >= 0)[:, None] & (rows < 9)[:, None], a[np.clip(rows, 0, 8)], 0)
    np.testing.assert_array_equal(b, want)


def test_fill_and_clear_of_regions(run):
    @T.prim_func
    def kernel(A: T.Tensor((6, 6), T.float32)):
        with T.Kernel(1):
            x = T.alloc_fragment((6, 6), T.float32)
            T.fill(x, 3)
            T.clear(x[2:4, :])
            T.fill(x[0:6, 5:6], T.float32(-1))
            T.copy(x, A)
            T.fill(A[0, 0], 9)
            T.fill(A[5:9, 0:2], 4.5)

    outcome = run(kernel, np.zeros((6, 6), np.float32))
    want = np.full((6, 6), 3, np.float32)
    want[2:4] = 0
    want[:, 5] = -1
    want[0, 0] = 9
    want[5, 0:2] = 4.5
    np.testing.assert_array_equal(outcome.args[0], want)


@pytest.mark.parametrize("alloc", [T.alloc_shared, T.alloc_fragment])
def test_transpose(run, rng, alloc):
    @T.prim_func
    def kernel(A: T.Tensor((2, 24, 16), T.float32)):
        B = T.empty((2, 16, 24), T.float16)
        with T.Kernel(1):
            x = alloc((2, 24, 16), T.float32)
            y = alloc((2, 16, 24), T.float16)
            T.copy(A, x)
            T.transpose(x, y)
            T.copy(y, B)
        return B

    a = rng.standard_normal((2, 24, 16), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.transpose(0, 2, 1).astype(np.float16))
