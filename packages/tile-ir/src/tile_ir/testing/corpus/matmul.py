"""Matrix products: every transposition, dtypes, epilogues, batches, split k, several operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.testing.corpus.sample import Array, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZES = (
    {"M": 64, "N": 64, "K": 64},
    {"M": 1, "N": 1, "K": 1},
    {"M": 65, "N": 7, "K": 33},
    {"M": 20, "N": 70, "K": 129},
)


def gemm_text(
    *,
    dtype: str = "f16",
    out: str = "f32",
    accumulator: str = "f32",
    tile: tuple[int, int, int] = (32, 32, 16),
    transpose_a: bool = False,
    transpose_b: bool = False,
    epilogue: str = "",
    params: str = "",
) -> str:
    """The text of a tiled product C = op(A) @ op(B); `epilogue` are statements on the accumulator
    C_l.
    """
    m, n, k = tile
    a = ("K, M", f"{k}, {m}", f"k * {k} : +{k}, by * {m} : +{m}")
    b = ("N, K", f"{n}, {k}", f"bx * {n} : +{n}, k * {k} : +{k}")
    a = a if transpose_a else ("M, K", f"{m}, {k}", f"by * {m} : +{m}, k * {k} : +{k}")
    b = b if transpose_b else ("K, N", f"{k}, {n}", f"k * {k} : +{k}, bx * {n} : +{n}")
    flags = ", ".join([*["transpose_a"] * transpose_a, *["transpose_b"] * transpose_b])
    zero = "0.0" if accumulator == "f32" else "0"
    return f"""
func @matmul(A: global {dtype}[{a[0]}], B: global {dtype}[{b[0]}]{params}, C: global {out}[M, N])
  dims (M, N, K) results (C) {{
  kernel @matmul {{
    tiles (bx, by) in (ceildiv(N, {n}), ceildiv(M, {m})) {{
      alloc A_s: shared {dtype}[{a[1]}]
      alloc B_s: shared {dtype}[{b[1]}]
      alloc C_l: fragment {accumulator}[{m}, {n}]
      fill C_l[:, :], {zero}
      for k in (0, ceildiv(K, {k}), 1) pipelined num_stages = 3 {{
        copy A[{a[2]}] -> A_s[:, :] clip
        copy B[{b[2]}] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :] {flags}
      }}
      {epilogue}
      copy C_l[:, :] -> C[by * {m} : +{m}, bx * {n} : +{n}] clip
    }}
  }}
}}"""


def _product(A: Array, B: Array, ta: bool = False, tb: bool = False) -> Array:
    a, b = (np.swapaxes(x, -1, -2) if t else x for x, t in ((A, ta), (B, tb)))
    return np.asarray(np.matmul(a, b))


def _gemm(ta: bool, tb: bool) -> Any:
    return lambda A, B, **dims: {"C": _product(A, B, ta, tb)}


_BIAS = """parallel (i, j) in (32, 32) {
        store C_l[i, j] = max(C_l[i, j] + f32(bias[bx * 32 + j]), 0.0)
      }"""
_SCALE = """parallel (i, j) in (32, 32) {
        store C_l[i, j] = C_l[i, j] * scale_a[by * 32 + i] * scale_b[bx * 32 + j]
      }"""
_GELU = """parallel (i, j) in (32, 32) {
        store C_l[i, j] = 0.5 * C_l[i, j] * (1.0 + erf(C_l[i, j] * 0.70710677))
      }"""


def _bias(A: Array, B: Array, bias: Array, **dims: int) -> Mapping[str, Array]:
    return {"C": np.maximum(A @ B + bias, 0)}


def _scaled(A: Array, B: Array, scale_a: Array, scale_b: Array, **dims: int) -> Mapping[str, Array]:
    return {"C": A @ B * scale_a[:, None] * scale_b}


def _gelu(A: Array, B: Array, **dims: int) -> Mapping[str, Array]:
    from math import erf

    x = A @ B
    return {"C": 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x * 2**-0.5))}


BATCHED = """
func @batched(A: global bf16[Z, M, K], B: global bf16[Z, K, N], C: global f32[Z, M, N])
  dims (Z, M, N, K) results (C) {
  kernel @batched {
    tiles (bx, by, z) in (ceildiv(N, 16), ceildiv(M, 16), Z) {
      alloc A_s: shared bf16[16, 8]
      alloc B_s: shared bf16[8, 16]
      alloc C_l: fragment f32[16, 16]
      for k in (0, ceildiv(K, 8), 1) pipelined num_stages = 2 {
        copy A[z, by * 16 : +16, k * 8 : +8] -> A_s[:, :] clip
        copy B[z, k * 8 : +8, bx * 16 : +16] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = k == 0
      }
      copy C_l[:, :] -> C[z, by * 16 : +16, bx * 16 : +16] clip
    }
  }
}"""

SPLIT_K = """
func @split_k(A: global f16[M, K], B: global f16[K, N], C: global f32[M, N]) dims (M, N, K)
  results (C) {
  kernel @clear {
    tiles (bx, by) in (ceildiv(N, 32), ceildiv(M, 32)) {
      fill C[by * 32 : +32, bx * 32 : +32], 0.0 clip
    }
  }
  kernel @partial {
    tiles (bx, by, s) in (ceildiv(N, 32), ceildiv(M, 32), 3) {
      alloc A_s: shared f16[32, 16]
      alloc B_s: shared f16[16, 32]
      alloc C_l: fragment f32[32, 32]
      fill C_l[:, :], 0.0
      let steps = ceildiv(K, 16)
      for k in (s, steps, 3) serial {
        copy A[by * 32 : +32, k * 16 : +16] -> A_s[:, :] clip
        copy B[k * 16 : +16, bx * 32 : +32] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      atomic_tile add C_l[:, :] -> C[by * 32 : +32, bx * 32 : +32] clip
    }
  }
}"""

GATED = """
func @gated(A: global f16[M, K], B: global f16[K, N], G: global f16[K, N], C: global f16[M, N])
  dims (M, N, K) results (C) {
  kernel @gated {
    tiles (bx, by) in (ceildiv(N, 32), ceildiv(M, 16)) {
      alloc A_s: shared f16[16, 16]
      alloc B_s: shared f16[16, 32]
      alloc G_s: shared f16[16, 32]
      alloc up: fragment f32[16, 32]
      alloc gate: fragment f32[16, 32]
      fill up[:, :], 0.0
      fill gate[:, :], 0.0
      for k in (0, ceildiv(K, 16), 1) pipelined num_stages = 2 {
        copy A[by * 16 : +16, k * 16 : +16] -> A_s[:, :] clip
        copy B[k * 16 : +16, bx * 32 : +32] -> B_s[:, :] clip
        copy G[k * 16 : +16, bx * 32 : +32] -> G_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> up[:, :]
        gemm A_s[:, :], G_s[:, :] -> gate[:, :]
      }
      parallel (i, j) in (16, 32) {
        let g: f32 = gate[i, j]
        store up[i, j] = up[i, j] * (g / (1.0 + exp(0.0 - g)))
      }
      copy up[:, :] -> C[by * 16 : +16, bx * 32 : +32] clip
    }
  }
}"""


def _gated(A: Array, B: Array, G: Array, **dims: int) -> Mapping[str, Array]:
    gate = A @ G
    return {"C": (A @ B) * gate / (1 + np.exp(-gate))}


_TRANSPOSED = [
    Sample(
        f"gemm_{'t' if ta else 'n'}{'t' if tb else 'n'}_{dtype}",
        gemm_text(dtype=dtype, transpose_a=ta, transpose_b=tb),
        SIZES,
        _gemm(ta, tb),
    )
    for dtype in ("f16", "f32")
    for ta in (False, True)
    for tb in (False, True)
]

SAMPLES = (
    *_TRANSPOSED,
    Sample("gemm_bf16_out_bf16", gemm_text(dtype="bf16", out="bf16"), SIZES, _gemm(False, False)),
    Sample(
        "gemm_i8", gemm_text(dtype="i8", out="i32", accumulator="i32"), SIZES, _gemm(False, False)
    ),
    Sample("gemm_odd_tiles", gemm_text(tile=(20, 28, 12)), SIZES, _gemm(False, False)),
    Sample("gemm_unit_tiles", gemm_text(tile=(1, 8, 1)), SIZES[:3], _gemm(False, False)),
    Sample(
        "gemm_bias_relu",
        gemm_text(epilogue=_BIAS, params=", bias: global f16[N]"),
        SIZES,
        _bias,
    ),
    Sample(
        "gemm_fp8_scaled",
        gemm_text(
            dtype="f8e4m3fn",
            epilogue=_SCALE,
            params=", scale_a: global f32[M], scale_b: global f32[N]",
        ),
        SIZES,
        _scaled,
    ),
    Sample("gemm_gelu", gemm_text(epilogue=_GELU), SIZES, _gelu),
    Sample(
        "gemm_batched",
        BATCHED,
        ({"Z": 3, "M": 16, "N": 17, "K": 9}, {"Z": 1, "M": 1, "N": 33, "K": 1}),
        _gemm(False, False),
    ),
    Sample("gemm_split_k", SPLIT_K, SIZES, _gemm(False, False)),
    Sample("gemm_gated", GATED, SIZES, _gated),
)
