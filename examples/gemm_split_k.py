"""Split-K: where M and N are small and K is long, tiles of C alone leave most of a device idle.

Each block sums a part of K and adds its tile to C atomically. C starts at zero, which a first
kernel of the same function sees to; kernels of one function run in order.
"""

import numpy as np
from _run import Case, main, normal, sum_error

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_split_k(A, B, dtype, splits=4, block_M=64, block_N=64, block_K=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), T.float32)
    steps = T.ceildiv(K, block_K * splits)
    grid_N, grid_M = T.ceildiv(N, block_N), T.ceildiv(M, block_M)
    with T.Kernel(grid_N, grid_M, threads=128) as (bx, by):
        zero = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(zero)
        T.copy(zero, C[by * block_M, bx * block_N])
    with T.Kernel(grid_N, grid_M, splits, threads=128) as (bx, by, part):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(steps, num_stages=3):
            T.copy(A[by * block_M, (part * steps + k) * block_K], A_s)
            T.copy(B[(part * steps + k) * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        T.atomic_add(C[by * block_M, bx * block_N], C_l)
    return C


def case(M, N, K, dtype, **options):
    return Case(
        kernel=matmul_split_k,
        inputs=lambda rng: (normal(rng, M, K, dtype=dtype), normal(rng, K, N, dtype=dtype)),
        reference=lambda a, b: a @ b,
        options={"dtype": T.dtype(dtype), **options},
        atol=sum_error(K),
        name=f"{M}x{N}x{K} {np.dtype(dtype).name}",
    )


CASES = [case(17, 65, 1000, np.float16), case(5, 33, 500, np.float32, splits=3)]

if __name__ == "__main__":
    main(CASES)
