"""int8 GEMM: exact sums in int32, then one scale for each row of A and each column of B.

Integer sums have no rounding, so the order of the work does not matter and results are the same
bits on every device. Scaling happens once, where the tile is still in registers.
"""

import numpy as np
from _run import Case, main, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_int8(A, B, block_M=64, block_N=64, block_K=64, stages=3, threads=128):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.int8)
    B: T.Tensor((N, K), T.int8)
    C = T.empty((M, N), T.int32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.int8)
        B_s = T.alloc_shared((block_N, block_K), T.int8)
        C_l = T.alloc_fragment((block_M, block_N), T.int32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[bx * block_N, k * block_K], B_s)
            T.gemm(A_s, B_s, C_l, transpose_B=True)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def matmul_int8_scaled(
    A, B, rows, columns, block_M=64, block_N=64, block_K=64, stages=3, threads=128
):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.int8)
    B: T.Tensor((N, K), T.int8)
    rows: T.Tensor((M,), T.float32)
    columns: T.Tensor((N,), T.float32)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.int8)
        B_s = T.alloc_shared((block_N, block_K), T.int8)
        C_l = T.alloc_fragment((block_M, block_N), T.int32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[bx * block_N, k * block_K], B_s)
            T.gemm(A_s, B_s, C_l, transpose_B=True)
        for i, j in T.Parallel(block_M, block_N):
            row, column = by * block_M + i, bx * block_N + j
            C[row, column] = C_l[i, j] * (rows[row] * columns[column])
    return C


def integers(rng, *shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def scales(rng, n):
    return rng.uniform(1e-3, 2e-3, n).astype(np.float32)


CASES = [
    Case(
        kernel=matmul_int8,
        inputs=lambda rng: (integers(rng, 65, 200), integers(rng, 72, 200)),
        reference=lambda a, b: a @ b.T,
        name="exact",
    ),
    Case(
        kernel=matmul_int8_scaled,
        inputs=lambda rng: (
            integers(rng, 33, 144),
            integers(rng, 70, 144),
            scales(rng, 33),
            scales(rng, 70),
        ),
        reference=lambda a, b, rows, columns: a @ b.T * rows[:, None] * columns,
        rtol=unit(np.float16),
        atol=unit(np.float16) * 2.0**-14,  # below it numbers of float16 are equally spaced
        name="scaled",
    ),
]

if __name__ == "__main__":
    main(CASES)
