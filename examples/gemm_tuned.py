"""A GEMM that knows its tiles: no choice is the best for all shapes and devices.

A call looks for the shape, rounded up to powers of two, in the database of what was tuned here,
then in the table that comes with the target for this device, and where neither has it, tries the
configurations below, once. `TILE_TUNE=cached` never tries, `TILE_TUNE=off` takes the defaults.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

SPACE = [
    {"block_M": m, "block_N": n, "block_K": k, "stages": stages, "threads": threads}
    for m, n, k, stages, threads in (
        (128, 256, 64, 4, 256),
        (128, 128, 64, 4, 256),
        (128, 128, 32, 3, 256),
        (64, 64, 64, 3, 128),
        (16, 64, 64, 4, 128),
    )
]


@tile.autotune(configs=SPACE, key=("M", "N", "K", "transposed"), bucket="power-of-two")
@tile.jit
def matmul(
    A, B, dtype, transposed=False, block_M=128, block_N=256, block_K=64, stages=4, threads=256
):
    """A [M, K] times B [K, N], or times the transpose of B [N, K]."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K) if transposed else (K, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_N, block_K) if transposed else (block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            if transposed:
                T.copy(B[bx * block_N, k * block_K], B_s)
            else:
                T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l, transpose_B=transposed)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def case(M, N, K, configuration, transposed=False, dtype=np.float16):
    """A shape with a configuration that fits every architecture."""
    b = (N, K) if transposed else (K, N)
    return Case(
        kernel=matmul.kernel,
        inputs=lambda rng: (normal(rng, M, K, dtype=dtype), normal(rng, *b, dtype=dtype)),
        reference=lambda a, b: a @ (b.T if transposed else b),
        options={"dtype": T.dtype(dtype), "transposed": transposed, **configuration},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{M}x{N}x{K}{', transposed' * transposed}",
    )


CASES = [
    case(7, 72, 200, SPACE[4]),
    case(63, 129, 200, SPACE[3], transposed=True),
    case(130, 136, 104, SPACE[2]),
]

if __name__ == "__main__":
    main(CASES)
