"""4-bit weights, 16-bit activations: groups of 128 weights share a scale and a zero point.

The weight is packed once, offline, by `pack`: two numbers to a byte, neighbours along K. A kernel
reads a quarter of the bytes of float16, unpacks them to float16 in registers and multiplies on the
matrix unit. A step along K lies inside of a group, so scale and zero are one number for each row of
a tile.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

GROUP = 128
"""Weights along K that share a scale and a zero."""


def pack(weights):
    """(N, K) numbers from 0 to 15 -> (N, K / 2) bytes, the even column in the low half."""
    return (weights[:, 0::2] | weights[:, 1::2] << 4).astype(np.uint8)


def unpack(packed):
    """What `pack` packed."""
    return np.stack([packed & 15, packed >> 4], axis=2).reshape(len(packed), -1)


@tile.jit
def matmul_w4a16(A, W, scales, zeros, block_M=32, block_N=64, block_K=64):
    """C = A @ ((W - zeros) * scales).T"""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    W: T.Tensor((N, K // 2), T.uint8)
    scales: T.Tensor((N, K // GROUP), T.float16)
    zeros: T.Tensor((N, K // GROUP), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        W_s = T.alloc_shared((block_N, block_K // 2), T.uint8)
        W_l = T.alloc_fragment((block_N, block_K), T.float16)
        C_t = T.alloc_fragment((block_N, block_M), T.float32)
        T.clear(C_t)
        for k in T.Pipelined(K // block_K, num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(W[bx * block_N, k * (block_K // 2)], W_s)
            for i, j in T.Parallel(block_N, block_K):
                number = (W_s[i, j // 2] >> (j % 2 * 4)) & 15
                row, group = bx * block_N + i, k * block_K // GROUP
                zero, scale = zeros[row, group], scales[row, group]
                W_l[i, j] = (T.cast(number, T.float32) - zero) * scale
            T.gemm(W_l, A_s, C_t, transpose_B=True)
        for j, i in T.Parallel(block_N, block_M):
            C[by * block_M + i, bx * block_N + j] = C_t[j, i]
    return C


def inputs(M, N, K):
    def made(rng):
        groups = N, K // GROUP
        return (
            normal(rng, M, K, dtype=np.float16),
            pack(rng.integers(0, 16, (N, K))),
            rng.uniform(0.05, 0.2, groups).astype(np.float16),
            rng.integers(6, 10, groups).astype(np.float16),
        )

    return made


def reference(a, packed, scales, zeros):
    """The products in float64, of weights that are rounded to float16 as the kernel's are."""
    scales, zeros = (np.repeat(x, GROUP, axis=1) for x in (scales, zeros))
    weights = (unpack(packed) - zeros) * scales
    return a @ weights.astype(np.float16).astype(np.float64).T


def case(M, N, K, **options):
    return Case(
        kernel=matmul_w4a16,
        inputs=inputs(M, N, K),
        reference=reference,
        options=options,
        rtol=unit(np.float16),
        atol=sum_error(K),
        name=f"{M}x{N}x{K}",
    )


CASES = [
    case(5, 72, 384),
    case(65, 130, 256),
    case(64, 128, 256, block_M=64, block_N=128),  # two blocks of rows in each warp's registers
]

if __name__ == "__main__":
    main(CASES)
