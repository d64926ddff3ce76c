"""Tensors and workspaces: strides, views, scalars, several kernels, sizes of zero."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T

M, N, K = T.dynamic("M, N, K")


def test_strided_tensors(run, rng):
    """A slice with gaps in, a transposed tensor out; nothing between the elements is touched."""

    @T.prim_func
    def kernel(
        A: T.StridedTensor((M, N), (T.dynamic("sa"), T.dynamic("ta")), T.float32),
        B: T.StridedTensor((M, N), (T.dynamic("sb"), T.dynamic("tb")), T.float32),
    ):
        with T.Kernel(T.ceildiv(M, 8)) as bx:
            x = T.alloc_shared((8, 16), T.float32)
            for k in T.serial(T.ceildiv(N, 16)):
                T.copy(A[bx * 8, k * 16], x)
                for i, j in T.Parallel(8, 16):
                    x[i, j] += 1.0
                T.copy(x, B[bx * 8, k * 16])

    base = rng.standard_normal((22, 60), dtype=np.float32)
    out = np.zeros((40, 22), np.float32)
    kernel = tile.compile(kernel, target="cpu")
    a, b = base[::2, 3:58:3], out.T[::2, 1:39:2]
    run(kernel, a, b)
    kernel(a, b)
    want = np.zeros_like(out)
    want.T[::2, 1:39:2] = base[::2, 3:58:3] + 1
    np.testing.assert_array_equal(out, want)


def test_rows_longer_than_they_are_used(run, rng):
    @T.prim_func
    def kernel(A: T.StridedTensor((M, 32), (T.dynamic("row"), 1), T.float16)):
        B = T.empty((M, 32), T.float16)
        with T.Kernel(M) as bx:
            T.copy(A[bx, 0:32], B[bx, 0:32])
        return B

    wide = rng.standard_normal((9, 50)).astype(np.float16)
    (b,) = run(kernel, wide[:, 10:42])
    np.testing.assert_array_equal(b, wide[:, 10:42])


@pytest.mark.parametrize("alloc", [T.alloc_shared, T.alloc_fragment, T.alloc_global])
def test_views_share_storage(run, rng, alloc):
    @T.prim_func
    def kernel(A: T.Tensor((8, 12), T.float32)):
        B = T.empty((96,), T.float32)
        C = T.empty((8, 12), T.int32)
        with T.Kernel(1):
            x = alloc((8, 12), T.float32)
            T.copy(A, x)
            flat = T.reshape(x, (96,))
            flat[5] = 7.0
            bits = T.view(x, dtype=T.int32)
            T.copy(flat, B)
            T.copy(bits, C)
        return B, C

    a = rng.standard_normal((8, 12), dtype=np.float32)
    b, c = run(kernel, a)
    want = a.copy().reshape(-1)
    want[5] = 7
    np.testing.assert_array_equal(b, want)
    np.testing.assert_array_equal(c, want.view(np.int32).reshape(8, 12))


def test_view_of_a_parameter(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((6, 8), T.float32)):
        B = T.empty((8, 6), T.float32)
        with T.Kernel(1):
            rows = T.reshape(A, (3, 16))
            out = T.reshape(B, (48,))
            for i, j in T.Parallel(3, 16):
                out[i * 16 + j] = rows[2 - i, j]
        return B

    a = rng.standard_normal((6, 8), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b.reshape(3, 16), a.reshape(3, 16)[::-1])


def test_view_as_narrower_and_wider_types(run):
    @T.prim_func
    def kernel(A: T.Tensor((4, 4), T.uint32)):
        B = T.empty((4, 16), T.uint8)
        C = T.empty((8,), T.uint64)
        with T.Kernel(1):
            x = T.alloc_shared((4, 4), T.uint32)
            T.copy(A, x)
            T.copy(T.view(x, (4, 16), T.uint8), B)
            T.copy(T.view(x, (8,), dtype=T.uint64), C)
        return B, C

    a = np.arange(16, dtype=np.uint32).reshape(4, 4) * 0x01020305
    b, c = run(kernel, a)
    assert b.tobytes() == a.tobytes() == c.tobytes()


def test_several_kernels_run_in_order_over_a_workspace(run, rng):
    """Column sums in two launches: parts into a workspace, then their sum."""

    @T.prim_func
    def kernel(A: T.Tensor((M, 32), T.float32)):
        B = T.empty((32,), T.float32)
        parts = T.alloc_global((T.ceildiv(M, 16), 32), T.float32)
        with T.Kernel(T.ceildiv(M, 16)) as bx:
            x = T.alloc_fragment((16, 32), T.float32)
            s = T.alloc_fragment((32,), T.float32)
            T.copy(A[bx * 16, 0], x)
            T.reduce_sum(x, s, dim=0)
            T.copy(s, parts[bx, 0])
        with T.Kernel(32) as j:
            total = T.alloc_var(T.float32, init=0)
            for i in T.serial(T.ceildiv(M, 16)):
                total += parts[i, j]
            B[j] = total
        with T.Kernel(1):
            for j in T.Parallel(32):
                B[j] = B[j] * 2.0
        return B

    for rows in (1, 16, 100):
        a = rng.standard_normal((rows, 32), dtype=np.float32)
        (b,) = run(kernel, a)
        np.testing.assert_allclose(b, 2 * a.astype(np.float64).sum(axis=0), rtol=1e-5, atol=1e-5)


def test_scalars_of_every_kind(run):
    @T.prim_func
    def kernel(
        a: T.int8, b: T.uint64, c: T.float32, d: T.float64, e: T.bool, f: T.float16, g: T.bfloat16
    ):
        out = T.empty((7,), T.float64)
        with T.Kernel(1):
            out[0] = a
            out[1] = T.cast(b, T.float64)
            out[2] = c
            out[3] = d
            out[4] = T.if_then_else(e, 1.0, 2.0)
            out[5] = f
            out[6] = g
        return out

    (out,) = run(kernel, -7, 2**53, 0.1, 0.1, True, 0.5, -1.5)
    assert out.tolist() == [-7, 2.0**53, float(np.float32(0.1)), 0.1, 1, 0.5, -1.5]
    (out,) = run(kernel, 127, 0, -1e30, 1e300, False, -2, 3)
    assert out.tolist() == [127, 0, float(np.float32(-1e30)), 1e300, 2, -2, 3]


def test_scalars_that_size_loops_and_grids(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), blocks: T.int32, step: T.int32):
        with T.Kernel(blocks) as bx:
            for i in T.serial(step):
                A[bx * step + i] = bx

    outcome = run(kernel, np.full(20, -1, np.int32), 3, 5)
    assert outcome.args[0].tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [-1] * 5


def test_linear_extents_determine_their_dimensions(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((2 * N + 1, M), T.float32), B: T.Tensor((M + N,), T.float32)):
        C = T.empty((N, M), T.float32)
        with T.Kernel(N, M) as (i, j):
            C[i, j] = A[2 * i + 1, j] + B[i + j]
        return C

    a = rng.standard_normal((9, 3), dtype=np.float32)
    b = rng.standard_normal(7, dtype=np.float32)
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(
        c, [[a[2 * i + 1, j] + b[i + j] for j in range(3)] for i in range(4)]
    )


def test_a_tensor_of_one_number_and_of_many_axes(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((2, 3, 4, 5, 6), T.float32), s: T.Tensor((1,), T.float32)):
        B = T.empty((6, 5, 4, 3, 2), T.float32)
        with T.Kernel(2, 3, 4) as (i, j, k):
            for l, m in T.Parallel(5, 6):
                B[m, l, k, j, i] = A[i, j, k, l, m] * s[0]
        return B

    a = rng.standard_normal((2, 3, 4, 5, 6), dtype=np.float32)
    (b,) = run(kernel, a, np.array([2.0], np.float32))
    np.testing.assert_array_equal(b, 2 * a.transpose())


def test_shared_memory_laid_out_by_the_user(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), T.float32)):
        B = T.empty((16, 16), T.float32)
        with T.Kernel(1):
            x = T.alloc_shared((16, 16), T.float32)
            y = T.alloc_fragment((16, 16), T.float32)
            T.annotate_layout(
                {
                    x: T.Layout((16, 16), lambda i, j: i * 20 + j),
                    y: T.Fragment((16, 16), forward_fn=lambda i, j: (i * 8 + j // 2, j % 2)),
                }
            )
            T.copy(A, x)
            T.copy(x, y)
            for i, j in T.Parallel(16, 16):
                B[i, j] = y[j, i]
        return B

    a = rng.standard_normal((16, 16), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.T)


SIZES = [(0, 5, 7), (5, 0, 7), (5, 7, 0), (0, 0, 0), (0, 0, 3), (0, 3, 0), (3, 0, 0)]


@pytest.fixture(scope="module")
def product_of_any_size():
    @T.prim_func
    def kernel(A: T.Tensor((M, K), T.float32), B: T.Tensor((K, N), T.float32)):
        C = T.empty((M, N), T.float32)
        with T.Kernel(T.ceildiv(N, 16), T.ceildiv(M, 16)) as (bx, by):
            a = T.alloc_shared((16, 16), T.float32)
            b = T.alloc_shared((16, 16), T.float32)
            c = T.alloc_fragment((16, 16), T.float32)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                T.copy(A[by * 16, k * 16], a)
                T.copy(B[k * 16, bx * 16], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 16, bx * 16])
        return C

    return tile.compile(kernel, target="cpu")


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_empty_tensors(run, product_of_any_size, sizes):
    """Nothing to compute gives empty results; nothing to add up gives zeros."""
    m, n, k = sizes
    (c,) = run(product_of_any_size, np.ones((m, k), np.float32), np.ones((k, n), np.float32))
    np.testing.assert_array_equal(c, np.zeros((m, n), np.float32))


def test_empty_tensors_of_constant_shape(run):
    @T.prim_func
    def kernel(A: T.Tensor((0, 4), T.float32), B: T.Tensor((2,), T.float32)):
        C = T.empty((0,), T.float32)
        with T.Kernel(0) as i:
            C[i] = A[i, 0]
        with T.Kernel(2) as i:
            B[i] = 3.0
        return C

    outcome = run(kernel, np.zeros((0, 4), np.float32), np.zeros(2, np.float32))
    assert outcome[0].shape == (0,)
    assert outcome.args[1].tolist() == [3, 3]


def test_empty_rows_reduce_to_the_identity(run):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), T.float32)):
        B = T.empty((M,), T.float32)
        with T.Kernel(M) as i:
            top = T.alloc_var(T.float32, init=-T.infinity(T.float32))
            for j in T.serial(N):
                top = T.max(top, A[i, j])
            B[i] = top
        return B

    (b,) = run(kernel, np.zeros((3, 0), np.float32))
    np.testing.assert_array_equal(b, [-np.inf] * 3)
