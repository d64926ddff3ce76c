"""Stream-K: every block does the same number of steps along K, wherever tiles begin and end.

With one block per tile, a grid of 110 tiles on 100 processors takes as long as 200. Here the steps
of all tiles form one line, which is cut into equal parts. A part may end in the middle of a tile;
tiles that several blocks share are added up atomically.
"""

import numpy as np
from _run import Case, main, normal, sum_error

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_stream_k(A, B, dtype, workers=5, block_M=64, block_N=64, block_K=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), T.float32)
    grid_N, grid_M = T.ceildiv(N, block_N), T.ceildiv(M, block_M)
    steps = T.ceildiv(K, block_K)
    share = T.ceildiv(grid_M * grid_N * steps, workers)
    with T.Kernel(grid_N, grid_M, threads=128) as (bx, by):
        zero = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(zero)
        T.copy(zero, C[by * block_M, bx * block_N])
    with T.Kernel(workers, threads=128) as worker:
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        begin = worker * share
        end = T.min(begin + share, grid_M * grid_N * steps)
        for t in T.serial(begin // steps, T.ceildiv(end, steps)):
            by, bx = t // grid_N, t % grid_N
            first = T.max(begin - t * steps, 0)
            last = T.min(end - t * steps, steps)
            T.clear(C_l)
            for k in T.Pipelined(first, last, num_stages=3):
                T.copy(A[by * block_M, k * block_K], A_s)
                T.copy(B[k * block_K, bx * block_N], B_s)
                T.gemm(A_s, B_s, C_l)
            T.atomic_add(C[by * block_M, bx * block_N], C_l)
    return C


def case(M, N, K, dtype, **options):
    return Case(
        kernel=matmul_stream_k,
        inputs=lambda rng: (normal(rng, M, K, dtype=dtype), normal(rng, K, N, dtype=dtype)),
        reference=lambda a, b: a @ b,
        options={"dtype": T.dtype(dtype), **options},
        atol=sum_error(K),
        name=f"{M}x{N}x{K} {np.dtype(dtype).name}",
    )


CASES = [case(130, 136, 200, np.float16), case(65, 33, 100, np.float32, workers=7)]

if __name__ == "__main__":
    main(CASES)
