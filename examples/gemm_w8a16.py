"""8-bit weights, 16-bit activations: a weight of int8 with one scale for each output channel.

A channel's scale is a factor of a whole column of C, so it need not touch the weights: they become
float16 exactly, and the sum is scaled at the end.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_w8a16(A, W, scales, block_M=64, block_N=64, block_K=64):
    """C = A @ W.T * scales."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    W: T.Tensor((N, K), T.int8)
    scales: T.Tensor((N,), T.float32)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        W_s = T.alloc_shared((block_N, block_K), T.int8)
        W_h = T.alloc_shared((block_N, block_K), T.float16)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(W[bx * block_N, k * block_K], W_s)
            T.copy(W_s, W_h)
            T.gemm(A_s, W_h, C_l, transpose_B=True)
        for i, j in T.Parallel(block_M, block_N):
            C_l[i, j] *= scales[bx * block_N + j]
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def case(M, N, K):
    return Case(
        kernel=matmul_w8a16,
        inputs=lambda rng: (
            normal(rng, M, K, dtype=np.float16),
            rng.integers(-127, 128, (N, K)).astype(np.int8),
            rng.uniform(0.5, 1.5, N).astype(np.float32) / 127,
        ),
        reference=lambda a, w, scales: a @ w.T * scales,
        rtol=unit(np.float16),
        atol=sum_error(K, 1.5),
        name=f"{M}x{N}x{K}",
    )


CASES = [case(65, 72, 208), case(7, 33, 100)]

if __name__ == "__main__":
    main(CASES)
