"""Kernels that planning, expansion and the protocol check are tested on, as IR text, with arguments
for the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.testing.compare import assert_close
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.default import default_pipeline, device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_passes.plan.model import Plan

GEMM = """tile.ir 1.0 tile
func @matmul(A: global f16[M, K], B: global f16[K, N], C: global f32[M, N]) dims (M, N, K) {
  kernel @matmul threads = (128) {
    tiles (bx, by) in (ceildiv(N, @N), ceildiv(M, 64)) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, @N]
      alloc C_l: fragment f32[64, @N]
      fill C_l[:, :], 0.0
      for k in (0, ceildiv(K, 32), 1) pipelined num_stages = @S {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, bx * @N : +@N] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[by * 64 : +64, bx * @N : +@N] clip
    }
  }
}
"""

ATTENTION = """tile.ir 1.0 tile
func @attn(Q: global f16[Z, S, 64], K: global f16[Z, S, 64], V: global f16[Z, S, 64], O: global f32[Z, S, 64]) dims (Z, S) {
  kernel @attn threads = (128) {
    tiles (bm, z) in (ceildiv(S, 64), Z) {
      alloc Q_s: shared f16[64, 64]
      alloc K_s: shared f16[64, 64]
      alloc V_s: shared f16[64, 64]
      alloc acc_s: fragment f32[64, 64]
      alloc P: fragment f16[64, 64]
      alloc acc_o: fragment f32[64, 64]
      alloc m: fragment f32[64]
      alloc m_old: fragment f32[64]
      alloc alpha: fragment f32[64]
      alloc l: fragment f32[64]
      alloc l_j: fragment f32[64]
      copy Q[z : +1, bm * 64 : +64, 0 : +64] -> Q_s[:, :] clip
      fill acc_o[:, :], 0.0
      fill l[:], 0.0
      fill m[:], -10000.0
      for j in (0, ceildiv(min(S, (bm + 1) * 64), 64), 1) pipelined num_stages = @S {
        copy K[z : +1, j * 64 : +64, 0 : +64] -> K_s[:, :] clip
        gemm Q_s[:, :], K_s[:, :] -> acc_s[:, :] transpose_b, init = true
        parallel (r, q) in (64, 64) {
          store acc_s[r, q] = select(bm * 64 + r >= j * 64 + q, acc_s[r, q], -10000.0)
        }
        copy m[:] -> m_old[:]
        reduce max acc_s[:, :] -> m[:] dim = 1, clear = false
        parallel (r) in (64) { store alpha[r] = exp2(m_old[r] - m[r]) }
        parallel (r, q) in (64, 64) { store acc_s[r, q] = exp2(acc_s[r, q] - m[r]) }
        reduce sum acc_s[:, :] -> l_j[:] dim = 1
        parallel (r) in (64) { store l[r] = l[r] * alpha[r] + l_j[r] }
        copy acc_s[:, :] -> P[:, :]
        parallel (r, d) in (64, 64) { store acc_o[r, d] = acc_o[r, d] * alpha[r] }
        copy V[z : +1, j * 64 : +64, 0 : +64] -> V_s[:, :] clip
        gemm P[:, :], V_s[:, :] -> acc_o[:, :]
      }
      parallel (r, d) in (64, 64) { store acc_o[r, d] = acc_o[r, d] / l[r] }
      copy acc_o[:, :] -> O[z : +1, bm * 64 : +64, 0 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line

GATED = """tile.ir 1.0 tile
func @gated(A: global f16[M, K], B: global f16[K, 64], G: global f16[K, 64], C: global f32[M, 64]) dims (M, K) {
  kernel @gated threads = (128) {
    tiles (by) in (ceildiv(M, 64)) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, 64]
      alloc G_s: shared f16[32, 64]
      alloc up: fragment f32[64, 64]
      alloc gate: fragment f32[64, 64]
      fill up[:, :], 0.0
      fill gate[:, :], 0.0
      for k in (0, ceildiv(K, 32), 1) pipelined num_stages = @S {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, 0 : +64] -> B_s[:, :] clip
        copy G[k * 32 : +32, 0 : +64] -> G_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> up[:, :]
        gemm A_s[:, :], G_s[:, :] -> gate[:, :]
      }
      parallel (i, j) in (64, 64) { store up[i, j] = up[i, j] * max(gate[i, j], 0.0) }
      copy up[:, :] -> C[by * 64 : +64, 0 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line

SCALED = """tile.ir 1.0 tile
func @scaled(A: global f16[M, K], B: global f16[K, 64], s: global f32[L], C: global f32[M, 64]) dims (M, K, L) {
  kernel @scaled threads = (128) {
    tiles (by) in (ceildiv(M, 64)) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, 64]
      alloc part: fragment f32[64, 64]
      alloc C_l: fragment f32[64, 64]
      fill C_l[:, :], 0.0
      for k in (0, ceildiv(K, 32), 1) pipelined num_stages = @S {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, 0 : +64] -> B_s[:, :] clip
        let w: f32 = s[k]
        gemm A_s[:, :], B_s[:, :] -> part[:, :] init = true
        parallel (i, j) in (64, 64) { store C_l[i, j] = C_l[i, j] + part[i, j] * w }
      }
      copy C_l[:, :] -> C[by * 64 : +64, 0 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line

NO_PRODUCT = """tile.ir 1.0 tile
func @rows(A: global f32[M, K], C: global f32[M]) dims (M, K) {
  kernel @rows threads = (128) {
    tiles (by) in (ceildiv(M, 64)) {
      alloc A_s: shared f32[64, 32]
      alloc part: fragment f32[64]
      alloc sums: fragment f32[64]
      fill sums[:], 0.0
      for k in (0, ceildiv(K, 32), 1) pipelined num_stages = @S {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        reduce sum A_s[:, :] -> part[:] dim = 1
        parallel (i) in (64) { store sums[i] = sums[i] + part[i] }
      }
      copy sums[:] -> C[by * 64 : +64] clip
    }
  }
}
"""

NESTED = """tile.ir 1.0 tile
func @nested(A: global f16[M, K], B: global f16[L, K, 64], s: global f32[L, 64], C: global f32[M, 64]) dims (M, K, L) {
  kernel @nested threads = (128) {
    tiles (by) in (ceildiv(M, 64)) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, 64]
      alloc s_s: shared f32[64]
      alloc part: fragment f32[64, 64]
      alloc C_l: fragment f32[64, 64]
      fill C_l[:, :], 0.0
      for e in (0, L, 1) pipelined num_stages = 2 {
        copy s[e : +1, 0 : +64] -> s_s[:]
        fill part[:, :], 0.0
        for k in (0, ceildiv(K, 32), 1) pipelined num_stages = @S {
          copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
          copy B[e : +1, k * 32 : +32, 0 : +64] -> B_s[:, :] clip
          gemm A_s[:, :], B_s[:, :] -> part[:, :]
        }
        parallel (i, j) in (64, 64) { store C_l[i, j] = C_l[i, j] + part[i, j] * s_s[j] }
      }
      copy C_l[:, :] -> C[by * 64 : +64, 0 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line

TEXTS = {
    "gemm": GEMM,
    "attention": ATTENTION,
    "gated": GATED,
    "scaled": SCALED,
    "no product": NO_PRODUCT,
    "nested": NESTED,
}


def _arguments(name: str, k: int, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)

    def half(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(np.float16)

    def single(*shape: int) -> Any:
        return rng.integers(-2, 3, shape).astype(np.float32)

    m = 70
    zeros = np.zeros((m, 64), np.float32)
    return {
        "gemm": lambda: {"A": half(m, k), "B": half(k, n), "C": np.zeros((m, n), np.float32)},
        "attention": lambda: {
            "Q": half(1, k, 64),
            "K": half(1, k, 64),
            "V": half(1, k, 64),
            "O": np.zeros((1, k, 64), np.float32),
        },
        "gated": lambda: {"A": half(m, k), "B": half(k, 64), "G": half(k, 64), "C": zeros},
        "scaled": lambda: {
            "A": half(m, k),
            "B": half(k, 64),
            "s": single(-(-k // 32)),
            "C": zeros,
        },
        "no product": lambda: {"A": single(m, k), "C": np.zeros(m, np.float32)},
        "nested": lambda: {
            "A": half(m, k),
            "B": half(3, k, 64),
            "s": single(3, 64),
            "C": zeros,
        },
    }[name]()


RUNNING_SUMS = frozenset({"attention"})
"""Programs with sums that are kept in parts: their values come out rounded in another order."""


@dataclass(frozen=True)
class Made:
    """A program before and after planning and expansion, and the Plan."""

    before: Function
    after: Function
    plan: Plan

    @property
    def text(self) -> str:
        return print_function(self.after)


class Programs:
    """Makes the kernels, plans and expands them, and compares with the oracle."""

    def source(self, name: str, *, stages: int = 3, n: int = 64) -> str:
        text = TEXTS[name].replace("@S", str(stages)).replace("@N", str(n))
        return text.replace(" num_stages = 0", "")

    def tile(self, name: str, *, stages: int = 3, n: int = 64) -> Function:
        return parse_function(self.source(name, stages=stages, n=n))

    def parsed(self, text: str) -> Function:
        return parse_function(text)

    def planned(self, fn: Function, arch: str, pins: Mapping[str, object] | None = None) -> Made:
        cx = PassContext(target=toy_spec(arch), pins=pins or {})  # type: ignore[arg-type]  # a name of the two
        legal = default_pipeline().names
        steps = tuple(s for s in device_pipeline().steps if s.run.phase != "legalize")
        assert device_pipeline().names[: len(legal)] == legal
        state = run_pipeline(Pipeline(steps), State(function=fn), cx).state
        assert verify(state.function) == ()
        return Made(fn, state.function, state.plan)

    def arguments(self, name: str, k: int, n: int = 64) -> dict[str, Any]:
        """Arguments of a program."""
        return _arguments(name, k, n)

    def compare(self, made: Made, name: str, k: int, n: int = 64) -> None:
        args = _arguments(name, k, n)
        want = run(made.before, args)
        for schedule in ("late", "issue"):
            for seed in (None, 3):
                got = run(made.after, args, schedule=schedule, seed=seed)  # type: ignore[arg-type]  # one of the two
                for buffer, value in want.items():
                    if name in RUNNING_SUMS:
                        assert_close(got[buffer], value)
                    else:
                        np.testing.assert_array_equal(got[buffer], value)


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The kernels and what is done with them."""
    return Programs()
