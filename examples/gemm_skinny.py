"""Skinny GEMM: a few rows against a large weight, as in decoding a batch of tokens.

Time is that of reading the weight once, so every block must keep bytes of it in flight, and what
has been read makes room in the cache first: nobody comes back to it. The weight takes the side of
the tile that is wide (its rows are the columns of C); the few rows of A take the narrow one: C is
computed as the transpose of W @ A.T and turned over when it is written.

In a chain of products a weight is not what the product in front writes: `early` asks for it before
that one has ended, so that the memory is never idle between two of them.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_skinny(
    A,
    W,
    dtype,
    turned=True,
    block_M=16,
    block_N=64,
    block_K=128,
    stages=4,
    threads=128,
    early=False,
):
    """C = A @ W.T for A of few rows, or A @ W where W is not turned."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    W: T.Tensor((N, K) if turned else (K, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        if early:
            T.annotate_dependent_launch(W)
        W_s = T.alloc_shared((block_N, block_K) if turned else (block_K, block_N), dtype)
        A_s = T.alloc_shared((block_M, block_K), dtype)
        C_t = T.alloc_fragment((block_N, block_M), T.float32)
        T.clear(C_t)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            if turned:
                T.copy(W[bx * block_N, k * block_K], W_s, eviction_policy="evict_first")
            else:
                T.copy(W[k * block_K, bx * block_N], W_s, eviction_policy="evict_first")
            T.copy(A[by * block_M, k * block_K], A_s)
            T.gemm(W_s, A_s, C_t, transpose_A=not turned, transpose_B=True)
        for j, i in T.Parallel(block_N, block_M):
            C[by * block_M + i, bx * block_N + j] = C_t[j, i]
    return C


def case(M, N, K, dtype=np.float16, turned=True, **options):
    return Case(
        kernel=matmul_skinny,
        inputs=lambda rng: (
            normal(rng, M, K, dtype=dtype),
            normal(rng, *((N, K) if turned else (K, N)), dtype=dtype),
        ),
        reference=lambda a, w: a @ (w.T if turned else w),
        options={"dtype": T.dtype(dtype), "turned": turned, **options},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{M}x{N}x{K}{'' if turned else ' by rows'}",
    )


CASES = [
    case(1, 200, 520),
    case(5, 130, 264, block_M=8),
    case(33, 72, 104, block_M=32),
    case(9, 136, 200, turned=False),
    case(16, 128, 512, early=True),
]

if __name__ == "__main__":
    main(CASES)
