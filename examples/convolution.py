"""2D convolution as a GEMM: pixels are the rows, channels of the output the columns, taps the sum.

Nothing is unfolded in memory. Row m of the implied matrix is a pixel of the output, column k a tap
and a channel of the input; both are taken apart by division, and what falls outside of the image
reads as zero, which is the padding.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def convolution(X, W, dtype, stride=1, padding=0, block_M=64, block_N=64, block_K=32):
    """X: (batch, height, width, channels), W: (taps down, taps across, channels, filters)."""
    batch, height, width, C = T.const("batch, height, width, C")
    R, S, F = T.const("R, S, F")
    X: T.Tensor((batch, height, width, C), dtype)
    W: T.Tensor((R, S, C, F), dtype)
    P = (height + 2 * padding - R) // stride + 1
    Q = (width + 2 * padding - S) // stride + 1
    Y = T.empty((batch, P, Q, F), dtype)
    rows, taps = batch * P * Q, R * S * C
    flat_W, flat_Y = T.reshape(W, (taps, F)), T.reshape(Y, (rows, F))
    with T.Kernel(T.ceildiv(F, block_N), T.ceildiv(rows, block_M), threads=128) as (bx, by):
        X_s = T.alloc_shared((block_M, block_K), dtype)
        W_s = T.alloc_shared((block_K, block_N), dtype)
        Y_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(Y_l)
        for k in T.Pipelined(T.ceildiv(taps, block_K), num_stages=3):
            for i, j in T.Parallel(block_M, block_K):
                m, t = by * block_M + i, k * block_K + j
                p, q, n = m // Q % P, m % Q, m // (P * Q)
                y = p * stride + t // (S * C) - padding
                x = q * stride + t // C % S - padding
                X_s[i, j] = X[n, y, x, t % C]
            T.copy(flat_W[k * block_K, bx * block_N], W_s)
            T.gemm(X_s, W_s, Y_l)
        T.copy(Y_l, flat_Y[by * block_M, bx * block_N])
    return Y


def reference(stride, padding):
    def convolved(x, w):
        R, S = w.shape[:2]
        x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(x, (R, S), axis=(1, 2))
        return np.einsum("npqcrs,rscf->npqf", windows[:, ::stride, ::stride], w)

    return convolved


def case(image, filters, dtype, stride, padding):
    return Case(
        kernel=convolution,
        inputs=lambda rng: (normal(rng, *image, dtype=dtype), normal(rng, *filters, dtype=dtype)),
        reference=reference(stride, padding),
        options={"dtype": T.dtype(dtype), "stride": stride, "padding": padding},
        rtol=unit(dtype),
        atol=sum_error(int(np.prod(filters[:3]))),
        name=f"{filters[0]}x{filters[1]} stride {stride}",
    )


CASES = [
    case((2, 9, 7, 8), (3, 3, 8, 24), np.float16, stride=1, padding=1),
    case((1, 12, 11, 5), (5, 3, 5, 7), np.float32, stride=2, padding=0),
]

if __name__ == "__main__":
    main(CASES)
