"""RMSNorm, forward and backward.

Forward divides a row by its root mean square and keeps the reciprocal. Backward needs one dot
product per row; the gradient of the weights is a sum over rows, which every block forms for its
own rows in registers and adds to one vector atomically.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


def own_threads(each, width=8):
    """Where element (i, j) of some rows lies, as thread and register, if `each` threads have a row
    to themselves and take pieces of `width` of it in turn."""
    return lambda i, j: (i * each + j // width % each, j // (width * each) * width + j % width)


@tile.jit
def forward(X, W, dtype=T.float16, rows=4, eps=1e-6, threads=128, apart=False):
    """Y = X * r * W with r = 1 / sqrt(mean of X * X + eps), [M, N], and r, [M]."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    Y = T.empty((M, N), dtype)
    R = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as block:
        given = T.alloc_fragment((rows, N), dtype)
        if apart:
            layout = T.Fragment((rows, N), own_threads(threads // rows))
            T.annotate_layout({given: layout})
        weight = T.alloc_fragment((N,), dtype)
        x, square = (T.alloc_fragment((rows, N), T.float32) for _ in range(2))
        scale = T.alloc_fragment((rows,), T.float32)
        T.copy(X[block * rows, 0], given)
        T.copy(W, weight)  # under way beside the row
        T.copy(given, x)
        for i, j in T.Parallel(rows, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, scale, dim=1)
        for i in T.Parallel(rows):
            scale[i] = T.rsqrt(scale[i] / N + eps)
        for i, j in T.Parallel(rows, N):
            given[i, j] = x[i, j] * scale[i] * weight[j]
        T.copy(given, Y[block * rows, 0])
        T.copy(scale, R[block * rows])
    return Y, R


@tile.jit
def backward(X, W, R, dY, dW, dtype=T.float16, rows=4):
    """dX = r * (g - n * mean of g * n) with g = dY * W, n = X * r; dW += the sum of dY * n."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    R: T.Tensor((M,), T.float32)
    dY: T.Tensor((M, N), dtype)
    dW: T.Tensor((N,), T.float32)
    dX = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        n, g, product = (T.alloc_fragment((rows, N), T.float32) for _ in range(3))
        r, dot = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        weight = T.alloc_fragment((N,), T.float32)
        T.copy(X[block * rows, 0], n)
        T.copy(dY[block * rows, 0], g)
        T.copy(R[block * rows], r)
        for i, j in T.Parallel(rows, N):
            n[i, j] *= r[i]
        for i, j in T.Parallel(rows, N):
            product[i, j] = g[i, j] * n[i, j]
        T.reduce_sum(product, weight, dim=0)
        T.atomic_add(dW, weight)
        for i, j in T.Parallel(rows, N):
            g[i, j] *= W[j]
        for i, j in T.Parallel(rows, N):
            product[i, j] = g[i, j] * n[i, j]
        T.reduce_sum(product, dot, dim=1)
        for i, j in T.Parallel(rows, N):
            g[i, j] = r[i] * (g[i, j] - n[i, j] * dot[i] / N)
        T.copy(g, dX[block * rows, 0])
    return dX


def forward_reference(x, w, eps=1e-6):
    r = 1 / np.sqrt((x * x).mean(axis=1) + eps)
    return x * r[:, None] * w, r


def backward_reference(x, w, dy, eps=1e-6):
    r = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps)
    n, g = x * r, dy * w
    return r * (g - n * (g * n).mean(axis=1, keepdims=True)), (dy * n).sum(axis=0)


def inputs(rng):
    return normal(rng, M, N, dtype=np.float16), normal(rng, N, dtype=np.float16)


def with_gradients(rng):
    x, w = inputs(rng)
    _, r = forward_reference(x.astype(np.float64), w.astype(np.float64))
    dy = normal(rng, M, N, dtype=np.float16)
    return x, w, r.astype(np.float32), dy, np.zeros(N, np.float32)


M, N = 11, 500
CASES = [
    Case(
        kernel=forward,
        inputs=inputs,
        reference=forward_reference,
        rtol=unit(np.float16),
        atol=2.0**-24,
        name="forward",
    ),
    Case(
        kernel=forward,
        inputs=lambda rng: (
            normal(rng, 6, 1024, dtype=np.float16),
            normal(rng, 1024, dtype=np.float16),
        ),
        reference=forward_reference,
        options={"rows": 2, "apart": True},
        rtol=unit(np.float16),
        atol=2.0**-24,
        name="forward, rows apart",
    ),
    Case(
        kernel=backward,
        inputs=with_gradients,
        reference=lambda x, w, r, dy, dw: backward_reference(x, w, dy),
        writes=(4,),
        rtol=unit(np.float16),
        atol=sum_error(N),
        name="backward",
    ),
]

if __name__ == "__main__":
    main(CASES)
