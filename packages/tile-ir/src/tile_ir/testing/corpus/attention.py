"""Attention in the online form: causal or not, with a soft cap, with a second value matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tile_ir.testing.corpus.sample import Array, Reference, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping


def attention_text(*, causal: bool, cap: float | None = None, value_width: int = 16) -> str:
    """One query block of 16 rows against blocks of 8 keys, head width 8."""
    stop = "ceildiv(min(S, (bm + 1) * 16), 8)" if causal else "ceildiv(S, 8)"
    seen = "bm * 16 + r >= j * 8 + q" if causal else "true"
    score = "acc_s[r, q] * scale"
    if cap is not None:
        score = f"{cap} * tanh({score} * {1 / cap})"
    return f"""
func @attention(Q: global f16[Z, S, 8], K: global f16[Z, S, 8],
  V: global f16[Z, S, {value_width}], scale: f32, O: global f16[Z, S, {value_width}]) dims (Z, S)
  results (O) {{
  kernel @attention threads = (64) {{
    tiles (bm, z) in (ceildiv(S, 16), Z) {{
      alloc Q_s: shared f16[16, 8]
      alloc K_s: shared f16[8, 8]
      alloc V_s: shared f16[8, {value_width}]
      alloc acc_s: fragment f32[16, 8]
      alloc P: fragment f16[16, 8]
      alloc acc_o: fragment f32[16, {value_width}]
      alloc m: fragment f32[16]
      alloc m_old: fragment f32[16]
      alloc l: fragment f32[16]
      alloc l_j: fragment f32[16]
      alloc alpha: fragment f32[16]
      copy Q[z, bm * 16 : +16, :] -> Q_s[:, :] clip
      fill acc_o[:, :], 0.0
      fill l[:], 0.0
      fill m[:], -1.0e30
      for j in (0, {stop}, 1) pipelined num_stages = 2 {{
        copy K[z, j * 8 : +8, :] -> K_s[:, :] clip
        fill acc_s[:, :], 0.0
        gemm Q_s[:, :], K_s[:, :] -> acc_s[:, :] transpose_b, policy = full_row
        parallel (r, q) in (16, 8) {{
          store acc_s[r, q] = select({seen} and j * 8 + q < S, {score}, -1.0e30)
        }}
        copy m[:] -> m_old[:]
        reduce max acc_s[:, :] -> m[:] dim = 1, clear = false
        parallel (r) in (16) {{ store alpha[r] = exp(m_old[r] - m[r]) }}
        parallel (r, q) in (16, 8) {{ store acc_s[r, q] = exp(acc_s[r, q] - m[r]) }}
        reduce sum acc_s[:, :] -> l_j[:] dim = 1
        parallel (r) in (16) {{ store l[r] = l[r] * alpha[r] + l_j[r] }}
        copy acc_s[:, :] -> P[:, :]
        parallel (r, d) in (16, {value_width}) {{ store acc_o[r, d] = acc_o[r, d] * alpha[r] }}
        copy V[z, j * 8 : +8, :] -> V_s[:, :] clip
        gemm P[:, :], V_s[:, :] -> acc_o[:, :] policy = full_row
      }}
      parallel (r, d) in (16, {value_width}) {{ store acc_o[r, d] = acc_o[r, d] / l[r] }}
      copy acc_o[:, :] -> O[z, bm * 16 : +16, :] clip
    }}
  }}
}}"""


def _attention(causal: bool, cap: float | None) -> Reference:
    def reference(
        Q: Array,
        K: Array,
        V: Array,
        scale: float,
        **dims: int,
    ) -> Mapping[str, Array]:
        scores = Q @ K.swapaxes(1, 2) * np.float64(np.float32(scale))
        if cap is not None:
            scores = cap * np.tanh(scores / cap)
        if causal:
            seen = np.tril(np.ones(scores.shape[1:], bool))
            scores = np.where(seen, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return {"O": weights / weights.sum(axis=-1, keepdims=True) @ V}

    return reference


_SIZES = ({"Z": 2, "S": 32}, {"Z": 1, "S": 1}, {"Z": 3, "S": 27})
# The weights are rounded to f16 before the second product.
_RTOL = 8e-3

SAMPLES = tuple(
    Sample(
        name,
        attention_text(causal=causal, cap=cap, value_width=width),
        _SIZES,
        _attention(causal, cap),
        _RTOL,
    )
    for name, causal, cap, width in (
        ("attention", False, None, 16),
        ("attention_causal", True, None, 16),
        ("attention_soft_cap", True, 2.0, 8),
    )
)
