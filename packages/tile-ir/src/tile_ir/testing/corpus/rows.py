"""Row operations: softmax (whole rows, and online over symbolic ones), norms, every reduction,
scans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.testing.corpus.sample import Array, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SOFTMAX = """
func @softmax(X: global f32[M, 24], Y: global f32[M, 24]) dims (M) results (Y) {
  kernel @softmax {
    tiles (b) in (ceildiv(M, 4)) {
      alloc x: fragment f32[4, 24]
      alloc top: fragment f32[4]
      alloc total: fragment f32[4]
      copy X[b * 4 : +4, :] -> x[:, :] clip
      reduce max x[:, :] -> top[:] dim = 1
      parallel (i, j) in (4, 24) { store x[i, j] = exp(x[i, j] - top[i]) }
      reduce sum x[:, :] -> total[:] dim = 1
      parallel (i, j) in (4, 24) { store x[i, j] = x[i, j] / total[i] }
      copy x[:, :] -> Y[b * 4 : +4, :] clip
    }
  }
}"""

ONLINE_SOFTMAX = """
func @online_softmax(X: global f16[M, N], Y: global f16[M, N]) dims (M, N) results (Y) {
  kernel @online_softmax {
    tiles (row) in (M) {
      alloc x: fragment f32[1, 16]
      alloc top: fragment f32[1]
      alloc old: fragment f32[1]
      alloc total: fragment f32[1]
      alloc part: fragment f32[1]
      fill top[:], -inf
      fill total[:], 0.0
      for k in (0, ceildiv(N, 16), 1) serial {
        parallel (j) in (16) {
          store x[0, j] = select(k * 16 + j < N, f32(X[row, k * 16 + j]), -inf)
        }
        copy top[:] -> old[:]
        reduce max x[:, :] -> top[:] dim = 1, clear = false
        parallel (j) in (16) { store x[0, j] = exp(x[0, j] - top[0]) }
        reduce sum x[:, :] -> part[:] dim = 1
        parallel (i) in (1) { store total[i] = total[i] * exp(old[i] - top[i]) + part[i] }
      }
      for k in (0, ceildiv(N, 16), 1) serial {
        parallel (j) in (16) {
          if k * 16 + j < N {
            store Y[row, k * 16 + j] = f16(exp(f32(X[row, k * 16 + j]) - top[0]) / total[0])
          }
        }
      }
    }
  }
}"""

RMS_NORM = """
func @rms_norm(X: global bf16[M, 40], W: global bf16[40], eps: f32, Y: global bf16[M, 40])
  dims (M) results (Y) {
  kernel @rms_norm {
    tiles (b) in (ceildiv(M, 8)) {
      alloc x: shared bf16[8, 40]
      alloc square: fragment f32[8, 40]
      alloc mean: fragment f32[8]
      copy X[b * 8 : +8, :] -> x[:, :] clip
      parallel (i, j) in (8, 40) { store square[i, j] = f32(x[i, j]) * f32(x[i, j]) }
      reduce sum square[:, :] -> mean[:] dim = 1
      parallel (i) in (8) { store mean[i] = rsqrt(mean[i] / 40.0 + abs(eps) + 0.01) }
      parallel (i, j) in (8, 40) {
        let row = b * 8 + i
        if row < M { store Y[row, j] = bf16(f32(x[i, j]) * mean[i] * f32(W[j])) }
      }
    }
  }
}"""

LAYER_NORM = """
func @layer_norm(X: global f32[M, N], W: global f32[N], B: global f32[N], Y: global f32[M, N])
  dims (M, N) results (Y) {
  kernel @layer_norm {
    tiles (b) in (ceildiv(M, 4)) {
      alloc x: shared f32[4, 32]
      alloc total: fragment f32[4]
      alloc squares: fragment f32[4]
      alloc part: fragment f32[4]
      alloc y: fragment f32[4, 32]
      fill total[:], 0.0
      fill squares[:], 0.0
      for k in (0, ceildiv(N, 32), 1) serial {
        copy X[b * 4 : +4, k * 32 : +32] -> x[:, :] clip
        reduce sum x[:, :] -> total[:] dim = 1, clear = false
      }
      for k in (0, ceildiv(N, 32), 1) serial {
        copy X[b * 4 : +4, k * 32 : +32] -> x[:, :] clip
        parallel (i, j) in (4, 32) {
          let d: f32 = x[i, j] - total[i] / f32(N)
          store y[i, j] = select(k * 32 + j < N, d * d, 0.0)
        }
        reduce sum y[:, :] -> part[:] dim = 1
        parallel (i) in (4) { store squares[i] = squares[i] + part[i] }
      }
      for k in (0, ceildiv(N, 32), 1) serial {
        copy X[b * 4 : +4, k * 32 : +32] -> x[:, :] clip
        parallel (i, j) in (4, 32) {
          let c = k * 32 + j
          let rate: f32 = rsqrt(squares[i] / f32(N) + 0.1)
          store y[i, j] = (x[i, j] - total[i] / f32(N)) * rate * W[c] + B[c]
        }
        copy y[:, :] -> Y[b * 4 : +4, k * 32 : +32] clip
      }
    }
  }
}"""


def _softmax(X: Array, **dims: int) -> Mapping[str, Array]:
    e = np.exp(X - X.max(axis=1, keepdims=True))
    return {"Y": e / e.sum(axis=1, keepdims=True)}


def _rms_norm(X: Array, W: Array, eps: float, **dims: int) -> Mapping[str, Array]:
    mean = (X * X).mean(axis=1, keepdims=True)
    return {"Y": X / np.sqrt(mean + abs(eps) + 0.01) * W}


def _layer_norm(X: Array, W: Array, B: Array, **dims: int) -> Mapping[str, Array]:
    d = X - X.mean(axis=1, keepdims=True)
    return {"Y": d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 0.1) * W + B}


def reduce_text(kind: str, dtype: str, out: str, scope: str) -> str:
    """Rows of symbolic length to one value each, block by block, from the identity of the kind."""
    pad = {"max": "-inf", "min": "inf", "and": "-1"}.get(kind, "0.0")
    if not dtype.startswith(("f", "bf")):
        pad = {"max": "-2147483648", "min": "2147483647", "and": "-1"}.get(kind, "0")
    return f"""
func @row_{kind}(X: global {dtype}[M, N], Y: global {out}[M]) dims (M, N) results (Y) {{
  kernel @row_{kind} {{
    tiles (b) in (ceildiv(M, 8)) {{
      alloc x: {scope} {out}[8, 16]
      alloc y: fragment {out}[8]
      fill y[:], {pad}
      for k in (0, ceildiv(N, 16), 1) serial {{
        parallel (i, j) in (8, 16) {{
          let inside: bool = b * 8 + i < M and k * 16 + j < N
          store x[i, j] = select(inside, {out}(X[b * 8 + i, k * 16 + j]), {pad})
        }}
        reduce {kind} x[:, :] -> y[:] dim = 1, clear = false
      }}
      copy y[:] -> Y[b * 8 : +8] clip
    }}
  }}
}}"""


_KINDS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


def _reduce(kind: str) -> Any:
    return lambda X, **dims: {"Y": _KINDS[kind](X, axis=1)}


SCAN = """
func @scan(X: global f32[M, 16], S: global f32[M, 16], R: global f32[M, 16]) dims (M)
  results (S, R) {
  kernel @scan {
    tiles (b) in (ceildiv(M, 8)) {
      alloc x: shared f32[8, 16]
      alloc s: shared f32[8, 16]
      copy X[b * 8 : +8, :] -> x[:, :] clip
      scan sum x[:, :] -> s[:, :] dim = 1
      copy s[:, :] -> S[b * 8 : +8, :] clip
      scan max x[:, :] -> s[:, :] dim = 1, reverse
      copy s[:, :] -> R[b * 8 : +8, :] clip
    }
  }
}"""


def _scan(X: Array, **dims: int) -> Mapping[str, Array]:
    return {
        "S": np.cumsum(X, axis=1),
        "R": np.maximum.accumulate(X[:, ::-1], axis=1)[:, ::-1],
    }


_ROWS = ({"M": 8}, {"M": 1}, {"M": 13})
_BOTH = ({"M": 8, "N": 32}, {"M": 1, "N": 1}, {"M": 11, "N": 37})

SAMPLES = (
    Sample("softmax", SOFTMAX, _ROWS, _softmax),
    Sample("softmax_online", ONLINE_SOFTMAX, _BOTH, _softmax),
    Sample("rms_norm", RMS_NORM, _ROWS, _rms_norm),
    Sample("layer_norm", LAYER_NORM, _BOTH, _layer_norm),
    Sample("scan", SCAN, _ROWS, _scan),
    *(
        Sample(f"row_{kind}_f16", reduce_text(kind, "f16", "f32", scope), _BOTH, _reduce(kind))
        for kind, scope in (("sum", "fragment"), ("max", "shared"), ("min", "fragment"))
    ),
    *(
        Sample(f"row_{kind}_i32", reduce_text(kind, "i32", "i32", scope), _BOTH, _reduce(kind))
        for kind, scope in (
            ("sum", "shared"),
            ("max", "fragment"),
            ("and", "fragment"),
            ("or", "shared"),
            ("xor", "fragment"),
        )
    ),
)
