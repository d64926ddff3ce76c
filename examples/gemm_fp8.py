"""fp8 GEMM: 8-bit operands with scales, one for each tensor or one for each block.

With one scale per tensor the product is scaled once at the end. With a scale for every 128 columns
of a row of A and every 128 x 128 block of B each step along K is a product of its own, which is
scaled as it is added: outliers then spoil one block, and long sums are formed in full float32.
"""

import math

import ml_dtypes
import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

FP8 = ml_dtypes.float8_e4m3fn
GROUP = 128
"""Columns of A and of B's transpose that share a scale."""
SUMS = 2.0**-13
"""The precision of sums of 8-bit products inside of a matrix unit: Hopper's keeps 13 bits of the
largest one."""


@tile.jit
def matmul_fp8(
    A, B, scale_A, scale_B, dtype, block_M=64, block_N=64, block_K=64, stages=3, threads=128
):
    """C = (A @ B.T) * scale_A * scale_B."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K), dtype)
    scale_A: T.Tensor((1,), T.float32)
    scale_B: T.Tensor((1,), T.float32)
    C = T.empty((M, N), T.bfloat16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_N, block_K), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[bx * block_N, k * block_K], B_s)
            T.gemm(A_s, B_s, C_l, transpose_B=True)
        for i, j in T.Parallel(block_M, block_N):
            C_l[i, j] *= scale_A[0] * scale_B[0]
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def matmul_fp8_blocks(A, B, scale_A, scale_B, dtype, block_M=64, block_N=64, stages=2, threads=128):
    """C = the sum over groups of columns g of (A_g @ B_g.T) * scale_A[g, :] * scale_B[:, g].

    The scales of A lie row behind row for each group, so that those of a tile are one run.
    """
    M, N, K = T.const("M, N, K")
    groups = T.ceildiv(K, GROUP)
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K), dtype)
    scale_A: T.Tensor((groups, M), T.float32)
    scale_B: T.Tensor((T.ceildiv(N, GROUP), groups), T.float32)
    C = T.empty((M, N), T.bfloat16)
    run = math.gcd(block_N, GROUP)  # columns of a tile that have one scale
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, GROUP), dtype)
        B_s = T.alloc_shared((block_N, GROUP), dtype)
        rows_s = T.alloc_shared((block_M,), T.float32)
        columns_s = T.alloc_shared((block_N // run, groups), T.float32)
        rows = T.alloc_fragment((block_M,), T.float32)
        part = T.alloc_fragment((block_M, block_N), T.float32)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for c, g in T.Parallel(block_N // run, groups):
            columns_s[c, g] = scale_B[(bx * block_N + c * run) // GROUP, g]
        for k in T.Pipelined(groups, num_stages=stages):
            T.copy(A[by * block_M, k * GROUP], A_s)
            T.copy(B[bx * block_N, k * GROUP], B_s)
            T.copy(scale_A[k, by * block_M], rows_s)
            T.gemm(A_s, B_s, part, transpose_B=True, clear_accum=True)
            if run == block_N:  # all columns of the tile have one scale
                for i in T.Parallel(block_M):
                    rows[i] = rows_s[i] * columns_s[0, k]
                for i, j in T.Parallel(block_M, block_N):
                    C_l[i, j] += part[i, j] * rows[i]
            else:
                T.copy(rows_s, rows)
                for i, j in T.Parallel(block_M, block_N):
                    C_l[i, j] += part[i, j] * (rows[i] * columns_s[j // run, k])
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def reference_of_blocks(a, b, scale_a, scale_b):
    K = a.shape[1]
    a = a * np.repeat(scale_a.T, GROUP, axis=1)[:, :K]
    b = b * np.repeat(np.repeat(scale_b, GROUP, axis=0), GROUP, axis=1)[: len(b), :K]
    return a @ b.T


def positive(rng, *shape):
    return rng.uniform(0.5, 1.5, shape).astype(np.float32)


def inputs_of_blocks(M, N, K):
    groups = -(-K // GROUP)
    return lambda rng: (
        normal(rng, M, K, dtype=FP8),
        normal(rng, N, K, dtype=FP8),
        positive(rng, groups, M),
        positive(rng, -(-N // GROUP), groups),
    )


def case_of_tensors(dtype, M=65, N=72, K=208):
    return Case(
        kernel=matmul_fp8,
        inputs=lambda rng: (
            normal(rng, M, K, dtype=dtype),
            normal(rng, N, K, dtype=dtype),
            positive(rng, 1),
            positive(rng, 1),
        ),
        reference=lambda a, b, scale_a, scale_b: a @ b.T * scale_a * scale_b,
        options={"dtype": T.dtype(dtype)},
        rtol=unit(ml_dtypes.bfloat16),
        atol=sum_error(K, 1.5**2, SUMS),
        name=f"per tensor {np.dtype(dtype).name}",
    )


CASES = [
    case_of_tensors(FP8),
    case_of_tensors(ml_dtypes.float8_e5m2),
    Case(
        kernel=matmul_fp8_blocks,
        inputs=inputs_of_blocks(65, 136, 304),
        reference=reference_of_blocks,
        options={"dtype": T.float8_e4m3fn, "block_N": 96},
        rtol=unit(ml_dtypes.bfloat16),
        atol=sum_error(304, 1.5**2, SUMS),
        name="blocks across tiles",
    ),
    Case(
        kernel=matmul_fp8_blocks,
        inputs=inputs_of_blocks(65, 136, 304),
        reference=reference_of_blocks,
        options={"dtype": T.float8_e4m3fn},
        rtol=unit(ml_dtypes.bfloat16),
        atol=sum_error(304, 1.5**2, SUMS),
        name="blocks",
    ),
]

if __name__ == "__main__":
    main(CASES)
