"""Element by element: mixed types, transposition, strides, branches, views, dequantization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.testing.corpus.sample import Array, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

VECTOR_ADD = """
func @vector_add(A: global f32[n], B: global f32[n], C: global f32[n]) dims (n) results (C) {
  kernel @vector_add {
    tiles (b) in (ceildiv(n, 64)) {
      parallel (i) in (64) {
        if b * 64 + i < n { store C[b * 64 + i] = A[b * 64 + i] + B[b * 64 + i] }
      }
    }
  }
}"""

MIXED = """
func @mixed(A: global f16[n], B: global i32[n], flag: global bool[n], C: global f32[n],
  D: global u8[n]) dims (n) results (C, D) {
  kernel @mixed {
    tiles (b) in (ceildiv(n, 32)) {
      parallel (i) in (32) {
        let at = b * 32 + i
        let a: f32 = f32(A[at])
        let x: f32 = select(flag[at], a * f32(B[at]), sqrt(abs(a)))
        store C[at] = min(max(x, -20.0), 20.0) clip
        store D[at] = u8(B[at] * 3 >> 1) clip
      }
    }
  }
}"""

TRANSPOSE = """
func @transpose(A: global f16[M, N], B: global f16[N, M]) dims (M, N) results (B) {
  kernel @transpose {
    tiles (bx, by) in (ceildiv(N, 16), ceildiv(M, 8)) {
      alloc tile: shared f16[8, 16]
      alloc flipped: shared f16[16, 8]
      copy A[by * 8 : +8, bx * 16 : +16] -> tile[:, :] clip
      transpose tile[:, :] -> flipped[:, :]
      copy flipped[:, :] -> B[bx * 16 : +16, by * 8 : +8] clip
    }
  }
}"""

STRIDED = """
func @strided(A: global f32[M, N] strides (s, 1), k: f32, B: global f32[M, N]) dims (M, N, s)
  results (B) {
  kernel @strided {
    tiles (bx, by) in (ceildiv(N, 8), ceildiv(M, 8)) {
      alloc a: fragment f32[8, 8]
      copy A[by * 8 : +8, bx * 8 : +8] -> a[:, :] clip
      parallel (i, j) in (8, 8) { store a[i, j] = a[i, j] * k + 1.0 }
      copy a[:, :] -> B[by * 8 : +8, bx * 8 : +8] clip
    }
  }
}"""

DEQUANTIZE = """
func @dequantize(W: global u8[M, N], S: global f16[M, ceildiv(N, 16)], Y: global f16[M, 2 * N])
  dims (M, N) results (Y) {
  kernel @dequantize {
    tiles (bx, by) in (ceildiv(N, 16), ceildiv(M, 4)) {
      alloc w: shared u8[4, 16]
      alloc y: fragment f16[4, 32]
      copy W[by * 4 : +4, bx * 16 : +16] -> w[:, :] clip
      parallel (i, j) in (4, 32) {
        let nibble: u8 = w[i, j // 2] >> u8(j % 2 * 4) & 15:u8
        store y[i, j] = f16((f32(nibble) - 8.0) * f32(S[by * 4 + i, bx]))
      }
      copy y[:, :] -> Y[by * 4 : +4, bx * 32 : +32] clip
    }
  }
}"""

FLAT_VIEW = """
func @flat_view(A: global f32[M, 8], B: global f32[M, 8]) dims (M) results (B) {
  kernel @flat_view {
    tiles (b) in (ceildiv(M, 4)) {
      alloc x: shared f32[4, 8]
      copy A[b * 4 : +4, :] -> x[:, :] clip
      view flat: shared f32[32] of x
      view bits: shared u32[32] of x
      parallel (i) in (32) { store flat[i] = flat[i] + f32(i) }
      parallel (i) in (32) { store bits[i] = bits[i] & 2147483647:u32 }
      copy x[:, :] -> B[b * 4 : +4, :] clip
    }
  }
}"""

BRANCHES = """
func @branches(A: global i32[n], limit: i32, B: global i32[n]) dims (n) results (B) {
  kernel @branches {
    tiles (b) in (ceildiv(n, 16)) {
      alloc steps: var i32[]
      store steps[] = 0
      while steps[] * steps[] < b + abs(limit) { store steps[] = steps[] + 1 }
      for i in (0, 16, 1) serial {
        let at = b * 16 + i
        if at >= n { break }
        if A[at] == 3 { store B[at] = -1; continue }
        if A[at] > limit { store B[at] = steps[] } else { store B[at] = A[at] // 2 }
      }
    }
  }
}"""


def _mixed(A: Array, B: Array, flag: Array, **dims: int) -> Mapping[str, Array]:
    x = np.where(flag, A * B, np.sqrt(np.abs(A)))
    return {"C": np.clip(x, -20, 20), "D": (B * 3 >> 1) % 256}


def _dequantize(W: Array, S: Array, **dims: int) -> Mapping[str, Array]:
    nibbles = np.stack([W & 15, W >> 4], axis=2).reshape(W.shape[0], -1)
    scale = np.repeat(S, 32, axis=1)[:, : nibbles.shape[1]]
    return {"Y": (nibbles - 8) * scale}


def _whole_bytes(args: dict[str, Any]) -> dict[str, Any]:
    w = np.random.default_rng(1).integers(0, 256, args["W"].shape, np.uint8)
    return {**args, "W": w}


def _flat_view(A: Array, **dims: int) -> Mapping[str, Array]:
    rows = np.arange(A.shape[0])[:, None] % 4 * 8 + np.arange(8)
    return {"B": np.abs(A + rows)}


def _branches(A: Array, limit: int, **dims: int) -> Mapping[str, Array]:
    block = np.arange(len(A)) // 16
    steps = np.ceil(np.sqrt(block + abs(limit))).astype(np.int64)
    return {"B": np.where(A == 3, -1, np.where(limit < A, steps, A // 2))}


_FLAT = ({"n": 64}, {"n": 1}, {"n": 99})
_BOTH = ({"M": 16, "N": 32}, {"M": 1, "N": 1}, {"M": 13, "N": 21})

SAMPLES = (
    Sample("vector_add", VECTOR_ADD, _FLAT, lambda A, B, **dims: {"C": A + B}),
    Sample("mixed_types", MIXED, _FLAT, _mixed),
    Sample("transpose", TRANSPOSE, _BOTH, lambda A, **dims: {"B": A.T}),
    Sample(
        "strided",
        STRIDED,
        _BOTH,
        lambda A, k, **dims: {"B": A * np.float64(np.float32(k)) + 1},
    ),
    Sample("dequantize", DEQUANTIZE, _BOTH, _dequantize, adapt=_whole_bytes),
    Sample("flat_view", FLAT_VIEW, ({"M": 4}, {"M": 1}, {"M": 7}), _flat_view),
    Sample("branches", BRANCHES, _FLAT, _branches),
)
