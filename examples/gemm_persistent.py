"""Persistent GEMM: as many blocks as the device has room for, each walking over many tiles.

A block that has finished a tile goes on with the next one instead of making way for another block:
what is set up once stays, and the next tile's loads can start before this one's stores are done.
`T.Persistent` deals out the tiles in groups that share operands in the cache.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_persistent(A, B, dtype, workers=4, block_M=64, block_N=64, block_K=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)
    tiles = (T.ceildiv(M, block_M), T.ceildiv(N, block_N))
    with T.Kernel(workers, threads=128) as worker:
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        for by, bx in T.Persistent(tiles, workers, worker):
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[by * block_M, k * block_K], A_s)
                T.copy(B[k * block_K, bx * block_N], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def case(M, N, K, dtype, **options):
    return Case(
        kernel=matmul_persistent,
        inputs=lambda rng: (normal(rng, M, K, dtype=dtype), normal(rng, K, N, dtype=dtype)),
        reference=lambda a, b: a @ b,
        options={"dtype": T.dtype(dtype), **options},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{M}x{N}x{K} {np.dtype(dtype).name}",
    )


CASES = [
    case(200, 136, 72, np.float16),
    case(65, 130, 33, np.float32, workers=5),
    case(64, 64, 64, np.float16, workers=3),
]

if __name__ == "__main__":
    main(CASES)
