"""What follows a product stays in registers: bias and GELU, a residual, quantization to bytes.

The tile of C is used where it was summed, in float32, before anything is written. Quantization
gives each row of a tile its own scale, the largest magnitude over the largest number of the type.
"""

from math import erf

import ml_dtypes
import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

BLOCK_M, BLOCK_N, BLOCK_K = 64, 64, 32


@T.macro
def product(A, B, C_l, bx, by, K, dtype):
    """The tile (by, bx) of A @ B."""
    A_s = T.alloc_shared((BLOCK_M, BLOCK_K), dtype)
    B_s = T.alloc_shared((BLOCK_K, BLOCK_N), dtype)
    T.clear(C_l)
    for k in T.Pipelined(T.ceildiv(K, BLOCK_K), num_stages=3):
        T.copy(A[by * BLOCK_M, k * BLOCK_K], A_s)
        T.copy(B[k * BLOCK_K, bx * BLOCK_N], B_s)
        T.gemm(A_s, B_s, C_l)


@tile.jit
def matmul_bias_gelu(A, B, bias, dtype):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    bias: T.Tensor((N,), T.float32)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, BLOCK_N), T.ceildiv(M, BLOCK_M), threads=128) as (bx, by):
        C_l = T.alloc_fragment((BLOCK_M, BLOCK_N), T.float32)
        product(A, B, C_l, bx, by, K, dtype)
        for i, j in T.Parallel(BLOCK_M, BLOCK_N):
            x = C_l[i, j] + bias[bx * BLOCK_N + j]
            C_l[i, j] = 0.5 * x * (1 + T.erf(x * 0.5**0.5))
        T.copy(C_l, C[by * BLOCK_M, bx * BLOCK_N])
    return C


@tile.jit
def matmul_residual(A, B, R, dtype, alpha=1.0):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    R: T.Tensor((M, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, BLOCK_N), T.ceildiv(M, BLOCK_M), threads=128) as (bx, by):
        C_l = T.alloc_fragment((BLOCK_M, BLOCK_N), T.float32)
        R_l = T.alloc_fragment((BLOCK_M, BLOCK_N), dtype)
        T.copy(R[by * BLOCK_M, bx * BLOCK_N], R_l)
        product(A, B, C_l, bx, by, K, dtype)
        for i, j in T.Parallel(BLOCK_M, BLOCK_N):
            C_l[i, j] = C_l[i, j] * alpha + R_l[i, j]
        T.copy(C_l, C[by * BLOCK_M, bx * BLOCK_N])
    return C


@tile.jit
def matmul_quantize(A, B, dtype, out, largest):
    """Returns C in `out`, and the scales: one for each row of each tile."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), out)
    scales = T.empty((M, T.ceildiv(N, BLOCK_N)), T.float32)
    with T.Kernel(T.ceildiv(N, BLOCK_N), T.ceildiv(M, BLOCK_M), threads=128) as (bx, by):
        C_l = T.alloc_fragment((BLOCK_M, BLOCK_N), T.float32)
        scale = T.alloc_fragment((BLOCK_M,), T.float32)
        product(A, B, C_l, bx, by, K, dtype)
        T.reduce_absmax(C_l, scale, dim=1)
        for i in T.Parallel(BLOCK_M):
            scale[i] = T.max(scale[i], 1e-30) / largest
        for i, j in T.Parallel(BLOCK_M, BLOCK_N):
            x = C_l[i, j] / scale[i]
            C_l[i, j] = T.round(x) if out == T.int8 else x
        T.copy(C_l, C[by * BLOCK_M, bx * BLOCK_N])
        for i in T.Parallel(BLOCK_M):
            scales[by * BLOCK_M + i, bx] = scale[i]
    return C, scales


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(erf)(x * 0.5**0.5))


def quantized(out, largest):
    """The reference of `matmul_quantize`, in float64 up to the conversion."""

    def reference(a, b):
        c = a @ b
        pad = -c.shape[1] % BLOCK_N
        tiles = np.pad(c, ((0, 0), (0, pad))).reshape(len(c), -1, BLOCK_N)
        scales = np.abs(tiles).max(axis=2) / largest
        x = c / np.repeat(scales, BLOCK_N, axis=1)[:, : c.shape[1]]
        return (x if out != np.int8 else np.round(x)), scales

    return reference


def operands(M, N, K, dtype):
    return lambda rng: (normal(rng, M, K, dtype=dtype), normal(rng, K, N, dtype=dtype))


M, N, K, HALF = 65, 130, 104, np.float16
CASES = [
    Case(
        kernel=matmul_bias_gelu,
        inputs=lambda rng: (*operands(M, N, K, HALF)(rng), normal(rng, N)),
        reference=lambda a, b, bias: gelu(a @ b + bias),
        options={"dtype": T.float16},
        rtol=unit(HALF),
        atol=1.2 * sum_error(K),  # the slope of GELU is at most 1.13
        name="bias and gelu",
    ),
    Case(
        kernel=matmul_residual,
        inputs=lambda rng: (*operands(M, N, K, HALF)(rng), normal(rng, M, N, dtype=HALF)),
        reference=lambda a, b, r: 0.5 * (a @ b) + r,
        options={"dtype": T.float16, "alpha": 0.5},
        rtol=unit(HALF),
        atol=sum_error(K),
        name="residual",
    ),
    Case(
        kernel=matmul_quantize,
        inputs=operands(M, N, K, HALF),
        reference=quantized(np.int8, 127),
        options={"dtype": T.float16, "out": T.int8, "largest": 127.0},
        rtol=unit(np.float32) * K,  # of the scales
        atol=1,  # x may round up here and down there
        name="int8",
    ),
    Case(
        kernel=matmul_quantize,
        inputs=operands(M, N, K, HALF),
        reference=quantized(ml_dtypes.float8_e4m3fn, 448),
        options={"dtype": T.float16, "out": T.float8_e4m3fn, "largest": 448.0},
        rtol=unit(ml_dtypes.float8_e4m3fn) / 2 + unit(np.float32) * K,
        atol=2.0**-10,  # half of the smallest number of the format
        name="fp8",
    ),
]

if __name__ == "__main__":
    main(CASES)
