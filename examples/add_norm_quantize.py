"""Residual addition, RMSNorm and quantization to int8 in one pass.

A row is added to the residual stream, which is written back, then normed, and at last divided by
its largest magnitude / 127: three kernels' traffic for the price of one.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def add_norm_quantize(X, residual, W, dtype=T.float16, eps=1e-6):
    """Sum [M, N], int8 rows [M, N] and their scales [M]: quantized * scale is the normed sum."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    residual: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    total = T.empty((M, N), dtype)
    Q = T.empty((M, N), T.int8)
    scale = T.empty((M,), T.float32)
    with T.Kernel(M, threads=128) as row:
        x, square = (T.alloc_fragment((1, N), T.float32) for _ in range(2))
        r, top = (T.alloc_fragment((1,), T.float32) for _ in range(2))
        for i, j in T.Parallel(1, N):
            x[i, j] = T.cast(X[row, j], T.float32) + residual[row, j]
        T.copy(x, total[row, 0])
        for i, j in T.Parallel(1, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, r, dim=1)
        for i in T.Parallel(1):
            r[i] = T.rsqrt(r[i] / N + eps)
        for i, j in T.Parallel(1, N):
            x[i, j] = x[i, j] * r[i] * W[j]
        T.reduce_absmax(x, top, dim=1)
        for i in T.Parallel(1):
            top[i] = T.max(top[i], 1e-12) / 127
            scale[row] = top[i]
        for i, j in T.Parallel(1, N):
            Q[row, j] = T.cast(T.round(x[i, j] / top[i]), T.int8)
    return total, Q, scale


def reference(x, residual, w, eps=1e-6):
    total = x + residual
    normed = total / np.sqrt((total * total).mean(axis=1, keepdims=True) + eps) * w
    return total, normed, np.abs(normed).max(axis=1) / 127


def quantized(x, residual, w):
    total, normed, scale = reference(x, residual, w)
    return total, np.rint(normed / scale[:, None]), scale


CASES = [
    Case(
        kernel=add_norm_quantize,
        inputs=lambda rng: (
            normal(rng, 7, 1000, dtype=np.float16),
            normal(rng, 7, 1000, dtype=np.float16),
            normal(rng, 1000, dtype=np.float16),
        ),
        reference=quantized,
        rtol=unit(np.float16),  # of the sum; less than a step of int8
    ),
]

if __name__ == "__main__":
    main(CASES)
