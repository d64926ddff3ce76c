"""Batched GEMM: one product for each leading index, transposed B, one grid axis for the batch.

The leading axis is an index like any other: regions `A[b, i, k]` name the tiles, and the axes of
extent 1 in front are dropped. B is stored with K innermost, as weights usually are.
"""

import ml_dtypes
import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_batched(A, B, dtype, block_M=64, block_N=64, block_K=32):
    batch, M, N, K = T.const("batch, M, N, K")
    A: T.Tensor((batch, M, K), dtype)
    B: T.Tensor((batch, N, K), dtype)
    C = T.empty((batch, M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), batch, threads=128) as (bx, by, b):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_N, block_K), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[b, by * block_M, k * block_K], A_s)
            T.copy(B[b, bx * block_N, k * block_K], B_s)
            T.gemm(A_s, B_s, C_l, transpose_B=True)
        T.copy(C_l, C[b, by * block_M, bx * block_N])
    return C


def case(batch, M, N, K, dtype):
    return Case(
        kernel=matmul_batched,
        inputs=lambda rng: (
            normal(rng, batch, M, K, dtype=dtype),
            normal(rng, batch, N, K, dtype=dtype),
        ),
        reference=lambda a, b: a @ b.swapaxes(1, 2),
        options={"dtype": T.dtype(dtype)},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{batch}x{M}x{N}x{K} {np.dtype(dtype).name}",
    )


CASES = [case(3, 65, 40, 104, np.float16), case(2, 33, 70, 50, ml_dtypes.bfloat16)]

if __name__ == "__main__":
    main(CASES)
