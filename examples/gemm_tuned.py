"""A GEMM whose tiles come from a table: the shape of the problem picks the row.

No tile is best for all shapes. A tuner (`tile_tune`) measures candidates; what it found is a table
of plain numbers that a program carries with it. Rows are tried in order, the first one that fits
wins.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

# The most rows of C for which a line is meant -> tile of C, of K, copies in flight, threads.
TABLE = (
    (16, {"block_M": 16, "block_N": 64, "block_K": 64, "stages": 4, "threads": 128}),
    (64, {"block_M": 64, "block_N": 64, "block_K": 64, "stages": 3, "threads": 128}),
    (1 << 31, {"block_M": 128, "block_N": 128, "block_K": 32, "stages": 3, "threads": 256}),
)


def parameters(M):
    """The row of the table for this many rows of C."""
    return next(row for most, row in TABLE if most >= M)


@tile.jit
def matmul(A, B, dtype, block_M, block_N, block_K, stages, threads):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def case(M, N, K, dtype=np.float16):
    return Case(
        kernel=matmul,
        inputs=lambda rng: (normal(rng, M, K, dtype=dtype), normal(rng, K, N, dtype=dtype)),
        reference=lambda a, b: a @ b,
        options={"dtype": T.dtype(dtype), **parameters(M)},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{M}x{N}x{K}",
    )


CASES = [case(7, 72, 200), case(63, 129, 200), case(130, 136, 104)]

if __name__ == "__main__":
    main(CASES)
