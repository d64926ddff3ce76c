"""4-bit floating-point weights: fp4 (e2m1) with a float scale, and mxfp4 with power-of-two scales.

e2m1 has a sign, two bits of exponent and one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6. Two numbers
share a byte. A tile is unpacked by integer arithmetic: exponent and mantissa are put where float16
has them and the difference of the biases is multiplied in, which also gives the subnormal 0.5 its
value. In mxfp4 every 32 weights share a scale 2**(e - 127) of one byte: the bits of a float32's
exponent.
"""

import ml_dtypes
import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
BLOCK = 32
"""Weights along K that share a scale in mxfp4."""


def unpack(packed):
    """(N, K / 2) bytes, the even column in the low half -> (N, K) numbers."""
    codes = np.stack([packed & 15, packed >> 4], axis=2).reshape(len(packed), -1)
    return np.where(codes & 8, -1.0, 1.0) * VALUES[codes & 7]


@T.macro
def e2m1(both, column, out: T.Ref):
    """The number in one half of a byte, by its column."""
    code = T.cast(both >> (column % 2 * 4), T.uint16)
    bits = T.cast(((code & 8) << 12) | ((code & 7) << 9), T.uint16)
    out = T.cast(T.reinterpret(bits, T.float16), T.float32) * 2.0**14  # noqa: F841 -- it is the caller's


@tile.jit
def matmul_fp4(A, W, scales, block_M=64, block_N=64, block_K=64):
    """C = A @ W.T * scales, with a scale for each row of W."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.bfloat16)
    W: T.Tensor((N, K // 2), T.uint8)
    scales: T.Tensor((N,), T.float32)
    C = T.empty((M, N), T.bfloat16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.bfloat16)
        W_s = T.alloc_shared((block_N, block_K // 2), T.uint8)
        W_h = T.alloc_shared((block_N, block_K), T.bfloat16)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(W[bx * block_N, k * (block_K // 2)], W_s)
            for i, j in T.Parallel(block_N, block_K):
                e2m1(W_s[i, j // 2], j, W_h[i, j])
            T.gemm(A_s, W_h, C_l, transpose_B=True)
        for i, j in T.Parallel(block_M, block_N):
            C_l[i, j] *= scales[bx * block_N + j]
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def matmul_mxfp4(A, W, exponents, block_M=64, block_N=64, block_K=64):
    """C = A @ (W * 2 ** (exponents - 127)).T"""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.bfloat16)
    W: T.Tensor((N, K // 2), T.uint8)
    exponents: T.Tensor((N, K // BLOCK), T.uint8)
    C = T.empty((M, N), T.bfloat16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.bfloat16)
        W_s = T.alloc_shared((block_N, block_K // 2), T.uint8)
        E_s = T.alloc_shared((block_N, block_K // BLOCK), T.uint8)
        W_h = T.alloc_shared((block_N, block_K), T.bfloat16)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(W[bx * block_N, k * (block_K // 2)], W_s)
            T.copy(exponents[bx * block_N, k * (block_K // BLOCK)], E_s)
            for i, j in T.Parallel(block_N, block_K):
                number = T.alloc_var(T.float32)
                e2m1(W_s[i, j // 2], j, number)
                power = T.reinterpret(T.cast(E_s[i, j // BLOCK], T.uint32) << 23, T.float32)
                W_h[i, j] = number * power
            T.gemm(A_s, W_h, C_l, transpose_B=True)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def packed(rng, N, K):
    return rng.integers(0, 256, (N, K // 2)).astype(np.uint8)


def reference_mx(a, w, exponents):
    return a @ (unpack(w) * 2.0 ** (np.repeat(exponents, BLOCK, axis=1) - 127.0)).T


CASES = [
    Case(
        kernel=matmul_fp4,
        inputs=lambda rng: (
            normal(rng, 65, 208, dtype=ml_dtypes.bfloat16),
            packed(rng, 72, 208),
            rng.uniform(0.5, 1.5, 72).astype(np.float32),
        ),
        reference=lambda a, w, scales: a @ unpack(w).T * scales,
        rtol=unit(ml_dtypes.bfloat16),
        atol=sum_error(208, 3 * 1.5),  # weights are 2.8 in the mean square
        name="fp4",
    ),
    Case(
        kernel=matmul_mxfp4,
        inputs=lambda rng: (
            normal(rng, 33, 224, dtype=ml_dtypes.bfloat16),
            packed(rng, 70, 224),
            rng.integers(124, 130, (70, 224 // BLOCK)).astype(np.uint8),
        ),
        reference=reference_mx,
        rtol=unit(ml_dtypes.bfloat16),
        atol=sum_error(224, 3 * 2.0**2),
        name="mxfp4",
    ),
]

if __name__ == "__main__":
    main(CASES)
