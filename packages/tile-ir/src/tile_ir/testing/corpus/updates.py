"""Buffers that are changed: atomics of each kind, results of atomics, kernels after one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tile_ir.testing.corpus.sample import Array, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

HISTOGRAM = """
func @histogram(X: global i32[n], H: global i32[8]) dims (n) {
  kernel @histogram {
    tiles (b) in (ceildiv(n, 32)) {
      parallel (i) in (32) {
        if b * 32 + i < n { atomic add H[X[b * 32 + i] % 8], 1 }
      }
    }
  }
}"""

EXTREMES = """
func @extremes(X: global i32[n], top: global i32[1], low: global i32[1], bits: global u32[1])
  dims (n) {
  kernel @extremes {
    tiles (b) in (ceildiv(n, 16)) {
      parallel (i) in (16) {
        let at = b * 16 + i
        if at < n {
          atomic max top[0], X[at]
          atomic min low[0], X[at]
          atomic xor bits[0], u32(X[at])
        }
      }
    }
  }
}"""

COLUMN_SUMS = """
func @column_sums(X: global f16[M, N], Y: global f32[N]) dims (M, N) {
  kernel @column_sums {
    tiles (bx, by) in (ceildiv(N, 16), ceildiv(M, 8)) {
      alloc x: shared f16[8, 16]
      alloc y: fragment f32[16]
      copy X[by * 8 : +8, bx * 16 : +16] -> x[:, :] clip
      reduce sum x[:, :] -> y[:] dim = 0
      atomic_tile add y[:] -> Y[bx * 16 : +16] clip
    }
  }
}"""

TWO_KERNELS = """
func @two_kernels(A: global f32[M, N], B: global f32[M, N]) dims (M, N) results (B) {
  alloc total: global f32[M]
  kernel @sums {
    tiles (b) in (ceildiv(M, 4)) {
      alloc a: fragment f32[4, 16]
      alloc t: fragment f32[4]
      fill t[:], 0.0
      for k in (0, ceildiv(N, 16), 1) serial {
        copy A[b * 4 : +4, k * 16 : +16] -> a[:, :] clip
        reduce sum a[:, :] -> t[:] dim = 1, clear = false
      }
      copy t[:] -> total[b * 4 : +4] clip
    }
  }
  if M > 1 {
    kernel @centre {
      tiles (bx, by) in (ceildiv(N, 16), M) {
        parallel (j) in (16) {
          store B[by, bx * 16 + j] = A[by, bx * 16 + j] - total[by] / f32(N) clip
        }
      }
    }
  } else {
    kernel @keep {
      tiles (bx) in (ceildiv(N, 16)) { copy A[:, bx * 16 : +16] -> B[:, bx * 16 : +16] clip }
    }
  }
}"""


def _histogram(X: Array, H: Array, **dims: int) -> Mapping[str, Array]:
    return {"H": H + np.bincount(X % 8, minlength=8)}


def _extremes(X: Array, top: Array, low: Array, bits: Array, **dims: int) -> Mapping[str, Array]:
    return {
        "top": np.maximum(top, X.max()),
        "low": np.minimum(low, X.min()),
        "bits": bits ^ np.bitwise_xor.reduce(X % 2**32),
    }


def _two_kernels(A: Array, **dims: int) -> Mapping[str, Array]:
    return {"B": A - A.mean(axis=1, keepdims=True) if len(A) > 1 else A}


_FLAT = ({"n": 64}, {"n": 1}, {"n": 75})
_BOTH = ({"M": 16, "N": 32}, {"M": 1, "N": 1}, {"M": 13, "N": 21})

SAMPLES = (
    Sample("histogram", HISTOGRAM, _FLAT, _histogram),
    Sample("extremes", EXTREMES, _FLAT, _extremes),
    Sample(
        "column_sums",
        COLUMN_SUMS,
        _BOTH,
        lambda X, Y, **dims: {"Y": Y + X.sum(axis=0)},
    ),
    Sample("two_kernels", TWO_KERNELS, _BOTH, _two_kernels),
)
