"""LayerNorm, forward and backward.

Forward takes the mean away before it squares, which keeps the variance exact where the mean is
large. Backward needs two sums per row; the gradients of weight and bias are sums over rows, which
blocks add atomically.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def forward(X, W, B, dtype=T.float16, rows=4, eps=1e-5, threads=128, late=False):
    """Y = n * W + B with n = (X - mean) * r, [M, N]; mean and r = 1 / sqrt(variance + eps), [M]."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    B: T.Tensor((N,), dtype)
    Y = T.empty((M, N), dtype)
    mean_of = T.empty((M,), T.float32)
    R = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as block:
        given = T.alloc_fragment((rows, N), dtype)
        weight, bias = (T.alloc_fragment((N,), dtype) for _ in range(2))
        x, square = (T.alloc_fragment((rows, N), T.float32) for _ in range(2))
        mean, r = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        T.copy(X[block * rows, 0], given)
        if not late:  # under way beside the row, where the registers hold all three
            T.copy(W, weight)
            T.copy(B, bias)
        T.copy(given, x)
        T.reduce_sum(x, mean, dim=1)
        for i in T.Parallel(rows):
            mean[i] /= N
        for i, j in T.Parallel(rows, N):
            x[i, j] -= mean[i]
        for i, j in T.Parallel(rows, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, r, dim=1)
        for i in T.Parallel(rows):
            r[i] = T.rsqrt(r[i] / N + eps)
        if late:
            T.copy(W, weight)
            T.copy(B, bias)
        for i, j in T.Parallel(rows, N):
            given[i, j] = x[i, j] * r[i] * weight[j] + bias[j]
        T.copy(given, Y[block * rows, 0])
        T.copy(mean, mean_of[block * rows])
        T.copy(r, R[block * rows])
    return Y, mean_of, R


@tile.jit
def backward(X, W, mean_of, R, dY, dW, dB, dtype=T.float16, rows=4):
    """dX = r * (g - mean of g - n * mean of g * n) with g = dY * W; dW and dB grow by sums."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    mean_of: T.Tensor((M,), T.float32)
    R: T.Tensor((M,), T.float32)
    dY: T.Tensor((M, N), dtype)
    dW: T.Tensor((N,), T.float32)
    dB: T.Tensor((N,), T.float32)
    dX = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        n, g, product = (T.alloc_fragment((rows, N), T.float32) for _ in range(3))
        mean, r, plain, dot = (T.alloc_fragment((rows,), T.float32) for _ in range(4))
        column = T.alloc_fragment((N,), T.float32)
        T.copy(X[block * rows, 0], n)
        T.copy(dY[block * rows, 0], g)
        T.copy(mean_of[block * rows], mean)
        T.copy(R[block * rows], r)
        for i, j in T.Parallel(rows, N):
            n[i, j] = (n[i, j] - mean[i]) * r[i]
        T.reduce_sum(g, column, dim=0)
        T.atomic_add(dB, column)
        for i, j in T.Parallel(rows, N):
            product[i, j] = g[i, j] * n[i, j]
        T.reduce_sum(product, column, dim=0)
        T.atomic_add(dW, column)
        for i, j in T.Parallel(rows, N):
            g[i, j] *= W[j]
        for i, j in T.Parallel(rows, N):
            product[i, j] = g[i, j] * n[i, j]
        T.reduce_sum(g, plain, dim=1)
        T.reduce_sum(product, dot, dim=1)
        for i, j in T.Parallel(rows, N):
            g[i, j] = r[i] * (g[i, j] - plain[i] / N - n[i, j] * dot[i] / N)
        T.copy(g, dX[block * rows, 0])
    return dX


def normalised(x, eps=1e-5):
    mean = x.mean(axis=1, keepdims=True)
    r = 1 / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + eps)
    return (x - mean) * r, mean, r


def forward_reference(x, w, b):
    n, mean, r = normalised(x)
    return n * w + b, mean[:, 0], r[:, 0]


def backward_reference(x, w, dy):
    n, _, r = normalised(x)
    g = dy * w
    dx = r * (g - g.mean(axis=1, keepdims=True) - n * (g * n).mean(axis=1, keepdims=True))
    return dx, (dy * n).sum(axis=0), dy.sum(axis=0)


def inputs(rng):
    w, b = (normal(rng, N, dtype=np.float16) for _ in range(2))
    return 3 + normal(rng, M, N, dtype=np.float16), w, b


def with_gradients(rng):
    x, w, _ = inputs(rng)
    _, mean, r = normalised(x.astype(np.float64))
    saved = mean[:, 0].astype(np.float32), r[:, 0].astype(np.float32)
    dy = normal(rng, M, N, dtype=np.float16)
    return x, w, *saved, dy, np.zeros(N, np.float32), np.zeros(N, np.float32)


M, N = 9, 500
CASES = [
    Case(
        kernel=forward,
        inputs=inputs,
        reference=forward_reference,
        rtol=unit(np.float16),
        atol=sum_error(16),
        name="forward",
    ),
    Case(
        kernel=backward,
        inputs=with_gradients,
        reference=lambda x, w, mean, r, dy, dw, db: backward_reference(x, w, dy),
        writes=(5, 6),
        rtol=unit(np.float16),
        atol=sum_error(N),
        name="backward",
    ),
]

if __name__ == "__main__":
    main(CASES)
