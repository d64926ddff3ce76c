"""Computed indices: gather, convolution, pooling windows, shifted reads that leave the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.testing.corpus.sample import Array, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

GATHER = """
func @gather(T: global f16[V, 12], I: global i32[n], Y: global f16[n, 12]) dims (V, n) results (Y) {
  kernel @gather {
    tiles (b) in (ceildiv(n, 8)) {
      parallel (i, j) in (8, 12) {
        let at = b * 8 + i
        if at < n { store Y[at, j] = T[I[at], j] }
      }
    }
  }
}"""

CONV = """
func @conv(X: global f32[H, W], F: global f32[3, 3], Y: global f32[H, W]) dims (H, W) results (Y) {
  kernel @conv {
    tiles (bx, by) in (ceildiv(W, 8), ceildiv(H, 4)) {
      alloc acc: fragment f32[4, 8]
      fill acc[:, :], 0.0
      for t in (0, 9, 1) unroll {
        parallel (i, j) in (4, 8) {
          let r = by * 4 + i + t // 3 - 1
          let c = bx * 8 + j + t % 3 - 1
          store acc[i, j] = acc[i, j] + X[r, c] * F[t // 3, t % 3]
        }
      }
      copy acc[:, :] -> Y[by * 4 : +4, bx * 8 : +8] clip
    }
  }
}"""

POOL = """
func @pool(X: global f32[H, W], Y: global f32[H // 2, W // 2]) dims (H, W) results (Y) {
  kernel @pool {
    tiles (b) in (H // 2) {
      parallel (j) in (W // 2) {
        let top: f32 = max(X[2 * b, 2 * j], X[2 * b, 2 * j + 1])
        store Y[b, j] = max(top, max(X[2 * b + 1, 2 * j], X[2 * b + 1, 2 * j + 1]))
      }
    }
  }
}"""

SHIFT = """
func @shift(X: global f32[n] safe 5.0, Y: global f32[n]) dims (n) results (Y) {
  kernel @shift {
    tiles (b) in (ceildiv(n, 16)) {
      alloc x: shared f32[20]
      copy X[b * 16 - 2 : +20] -> x[:] clip
      parallel (i) in (16) {
        store Y[b * 16 + i] = x[i] + x[i + 2] + x[i + 4] + X[b * 16 + i - 3] clip
      }
    }
  }
}"""


def _in_range(args: dict[str, Any]) -> dict[str, Any]:
    rows = args["T"].shape[0]
    return {**args, "I": (np.abs(args["I"]) % rows).astype(np.int32)}


def _conv(X: Array, F: Array, **dims: int) -> Mapping[str, Array]:
    h, w = X.shape
    padded = np.pad(X, 1)
    shifted = [padded[r : r + h, c : c + w] * F[r, c] for r in range(3) for c in range(3)]
    return {"Y": np.sum(shifted, axis=0)}


def _pool(X: Array, **dims: int) -> Mapping[str, Array]:
    h, w = X.shape[0] // 2, X.shape[1] // 2
    return {"Y": X[: 2 * h, : 2 * w].reshape(h, 2, w, 2).max(axis=(1, 3))}


def _shift(X: Array, **dims: int) -> Mapping[str, Array]:
    n = len(X)
    around = np.pad(X, 3, constant_values=5)
    return {"Y": np.sum([around[3 + d : 3 + d + n] for d in (-2, 0, 2, -3)], axis=0)}


_IMAGE = ({"H": 8, "W": 16}, {"H": 2, "W": 3}, {"H": 9, "W": 13})

SAMPLES = (
    Sample(
        "gather",
        GATHER,
        ({"V": 10, "n": 16}, {"V": 1, "n": 1}, {"V": 5, "n": 21}),
        lambda T, I, **dims: {"Y": T[I]},
        adapt=_in_range,
    ),
    Sample("convolution", CONV, _IMAGE, _conv),
    Sample("pool", POOL, _IMAGE, _pool),
    Sample("shift", SHIFT, ({"n": 32}, {"n": 1}, {"n": 35}), _shift),
)
