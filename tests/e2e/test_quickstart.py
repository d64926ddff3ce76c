"""The kernels that everybody writes first, one dynamic build each, at every awkward size."""

from itertools import product

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T

SIZES = (1, 7, 64, 65, 127, 129, 1000)


def matmul_relu(M, N, K, block_M=64, block_N=64, block_K=32):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), T.float32), B: T.Tensor((K, N), T.float32)):
        C = T.empty((M, N), T.float32)
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_s = T.alloc_shared((block_M, block_K), T.float32)
            B_s = T.alloc_shared((block_K, block_N), T.float32)
            C_f = T.alloc_fragment((block_M, block_N), T.float32)
            T.clear(C_f)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, k * block_K], A_s)
                T.copy(B[k * block_K, bx * block_N], B_s)
                T.gemm(A_s, B_s, C_f)
            for i, j in T.Parallel(block_M, block_N):
                C_f[i, j] = T.max(C_f[i, j], 0)
            T.copy(C_f, C[by * block_M, bx * block_N])
        return C

    return kernel


def softmax(M, N, block_M=4, block_N=128):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), T.float32)):
        Y = T.empty((M, N), T.float32)
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_fragment((block_M, block_N), T.float32)
            top, old, part = (T.alloc_fragment((block_M,), T.float32) for _ in range(3))
            total = T.alloc_fragment((block_M,), T.float32)
            T.fill(top, -T.infinity(T.float32))
            T.clear(total)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(top, old)
                for i, j in T.Parallel(block_M, block_N):
                    inside = k * block_N + j < N
                    x[i, j] = T.if_then_else(
                        inside, X[bx * block_M + i, k * block_N + j], -T.infinity(T.float32)
                    )
                T.reduce_max(x, top, dim=1, clear=False)
                for i, j in T.Parallel(block_M, block_N):
                    x[i, j] = T.exp(x[i, j] - top[i])
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * T.exp(old[i] - top[i]) + part[i]
            for k in T.serial(T.ceildiv(N, block_N)):
                for i, j in T.Parallel(block_M, block_N):
                    row, column = bx * block_M + i, k * block_N + j
                    Y[row, column] = T.exp(X[row, column] - top[i]) / total[i]
        return Y

    return kernel


def rms_norm(M, N, block_M=4, block_N=128, eps=1e-6):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), T.float32), W: T.Tensor((N,), T.float32)):
        Y = T.empty((M, N), T.float32)
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            x = T.alloc_shared((block_M, block_N), T.float32)
            squares = T.alloc_fragment((block_M, block_N), T.float32)
            total = T.alloc_fragment((block_M,), T.float32)
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=2):
                T.copy(X[bx * block_M, k * block_N], x)
                for i, j in T.Parallel(block_M, block_N):
                    squares[i, j] = x[i, j] * x[i, j]
                T.reduce_sum(squares, total, dim=1, clear=False)
            for i in T.Parallel(block_M):
                total[i] = T.rsqrt(total[i] / T.cast(N, T.float32) + eps)
            for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=2):
                T.copy(X[bx * block_M, k * block_N], x)
                for i, j in T.Parallel(block_M, block_N):
                    x[i, j] = x[i, j] * total[i] * W[k * block_N + j]
                T.copy(x, Y[bx * block_M, k * block_N])
        return Y

    return kernel


def attention(S, S_kv, heads=2, dim=16, block_M=64, block_N=32):
    scale = 1.4426950408889634 / dim**0.5
    shape, shape_kv = (S, heads, dim), (S_kv, heads, dim)

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, T.float32),
        K: T.Tensor(shape_kv, T.float32),
        V: T.Tensor(shape_kv, T.float32),
    ):
        O = T.empty(shape, T.float32)
        with T.Kernel(T.ceildiv(S, block_M), heads, threads=128) as (bx, head):
            q = T.alloc_shared((block_M, dim), T.float32)
            k = T.alloc_shared((block_N, dim), T.float32)
            v = T.alloc_shared((block_N, dim), T.float32)
            scores = T.alloc_fragment((block_M, block_N), T.float32)
            weights = T.alloc_shared((block_M, block_N), T.float32)
            o = T.alloc_fragment((block_M, dim), T.float32)
            top, old, part = (T.alloc_fragment((block_M,), T.float32) for _ in range(3))
            total = T.alloc_fragment((block_M,), T.float32)
            T.copy(Q[bx * block_M : (bx + 1) * block_M, head, :], q)
            T.clear(o)
            T.clear(total)
            T.fill(top, -T.infinity(T.float32))
            last = T.min(S_kv, (bx + 1) * block_M)
            for n in T.Pipelined(T.ceildiv(last, block_N), num_stages=2):
                T.copy(K[n * block_N : (n + 1) * block_N, head, :], k)
                for i, j in T.Parallel(block_M, block_N):
                    column = n * block_N + j
                    visible = column <= bx * block_M + i and column < S_kv
                    scores[i, j] = T.if_then_else(visible, 0.0, -T.infinity(T.float32))
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, old)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * T.exp2((old[i] - top[i]) * scale) + part[i]
                for i, d in T.Parallel(block_M, dim):
                    o[i, d] *= T.exp2((old[i] - top[i]) * scale)
                T.copy(scores, weights)
                T.copy(V[n * block_N : (n + 1) * block_N, head, :], v)
                T.gemm(weights, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, d in T.Parallel(block_M, dim):
                o[i, d] /= total[i]
            T.copy(o, O[bx * block_M : (bx + 1) * block_M, head, :])
        return O

    return kernel


def built(make, *names):
    """Compile one kernel for all values of its dimensions."""
    return tile.compile(make(*(T.dynamic(n) for n in names)), target="cpu")


@pytest.fixture(scope="module")
def dynamic_matmul():
    return built(matmul_relu, "M", "N", "K")


@pytest.fixture(scope="module")
def dynamic_softmax():
    return built(softmax, "M", "N")


@pytest.fixture(scope="module")
def dynamic_rms_norm():
    return built(rms_norm, "M", "N")


@pytest.fixture(scope="module")
def dynamic_attention():
    return built(attention, "S", "S_kv")


def softmax_of(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def rms_norm_of(x, w):
    x, w = x.astype(np.float64), w.astype(np.float64)
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w


def attention_of(q, k, v):
    q, k, v = (a.astype(np.float64).transpose(1, 0, 2) for a in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / q.shape[-1] ** 0.5
    scores[:, ~np.tri(q.shape[1], k.shape[1], dtype=bool)] = -np.inf
    return (softmax_of(scores) @ v).transpose(1, 0, 2)


def sum_error(terms):
    """How far a float32 sum of products of normal numbers may be off, in any order of summation.

    A partial sum of n terms is about sqrt(n), so each of n roundings errs by eps / 2 * sqrt(n) at
    most and all together, being independent, by about eps / 4 * n. Four times that is out of reach.
    """
    return np.finfo(np.float32).eps * (terms + 8)


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("M", SIZES)
def test_matmul_relu_with_dynamic_sizes(dynamic_matmul, run, rng, M):
    for N, K in product(SIZES, SIZES):
        a, b = normal(rng, M, K), normal(rng, K, N)
        (c,) = run(dynamic_matmul, a, b, atol=sum_error(K))
        want = np.maximum(a.astype(np.float64) @ b, 0)
        np.testing.assert_allclose(c, want, rtol=1e-5, atol=sum_error(K), err_msg=f"{M} {N} {K}")


@pytest.mark.parametrize("M", SIZES)
def test_softmax_with_dynamic_sizes(dynamic_softmax, run, rng, M):
    for N in SIZES:
        x = 4 * normal(rng, M, N)
        (y,) = run(dynamic_softmax, x)
        np.testing.assert_allclose(y, softmax_of(x.astype(np.float64)), rtol=2e-5, atol=1e-7)
        np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("M", SIZES)
def test_rms_norm_with_dynamic_sizes(dynamic_rms_norm, run, rng, M):
    for N in SIZES:
        x, w = normal(rng, M, N), normal(rng, N)
        (y,) = run(dynamic_rms_norm, x, w)
        np.testing.assert_allclose(y, rms_norm_of(x, w), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("S", SIZES)
def test_causal_attention_with_dynamic_sizes(dynamic_attention, run, rng, S):
    q, k, v = (normal(rng, S, 2, 16) for _ in range(3))
    (o,) = run(dynamic_attention, q, k, v)
    np.testing.assert_allclose(o, attention_of(q, k, v), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("S", [1, 65, 129])
def test_attention_with_more_keys_than_queries(dynamic_attention, run, rng, S):
    q, k, v = normal(rng, S, 2, 16), normal(rng, S + 63, 2, 16), normal(rng, S + 63, 2, 16)
    (o,) = run(dynamic_attention, q, k, v)
    np.testing.assert_allclose(o, attention_of(q, k, v), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (64, 64, 64), (65, 7, 129), (127, 129, 1000)], ids=str
)
def test_matmul_relu_with_constant_sizes(run, rng, sizes):
    M, N, K = sizes
    a, b = normal(rng, M, K), normal(rng, K, N)
    (c,) = run(matmul_relu(M, N, K), a, b, atol=sum_error(K))
    want = np.maximum(a.astype(np.float64) @ b, 0)
    np.testing.assert_allclose(c, want, rtol=1e-5, atol=sum_error(K))


@pytest.mark.parametrize("sizes", [(1, 7), (7, 129), (65, 1000)], ids=str)
def test_row_kernels_with_constant_sizes(run, rng, sizes):
    x, w = normal(rng, *sizes), normal(rng, sizes[1])
    (y,) = run(softmax(*sizes), x)
    np.testing.assert_allclose(y, softmax_of(x.astype(np.float64)), rtol=2e-5, atol=1e-7)
    (y,) = run(rms_norm(*sizes), x, w)
    np.testing.assert_allclose(y, rms_norm_of(x, w), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("S", [7, 129])
def test_causal_attention_with_constant_sizes(run, rng, S):
    q, k, v = (normal(rng, S, 2, 16) for _ in range(3))
    (o,) = run(attention(S, S), q, k, v)
    np.testing.assert_allclose(o, attention_of(q, k, v), rtol=1e-4, atol=2e-6)
