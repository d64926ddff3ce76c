"""Kernels that a template would not know: each overlaps where its graph allows, and stays right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Alloc, Issue, Settle
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.protocol.check_protocol import verdicts
from tile_passes.registry import builtin

OLD_MAX = "        copy m[:] -> m_old[:]\n"

SOFT_CAP = "parallel (r, q) in (64, 64) { store acc_s[r, q] = tanh(acc_s[r, q] * 0.125) * 8.0 }"
BIAS = "parallel (r, q) in (64, 64) { store acc_s[r, q] = acc_s[r, q] + f32(j * 64 + q) * 0.25 }"
MASKED = "acc_s[r, q] * 0.5 + f32(j * 64 + q) * 0.25"
SECOND = {
    "      alloc V_s: shared f16[64, 64]\n": "      alloc W_s: shared f16[64, 64]\n"
    "      alloc acc_w: fragment f32[64, 64]\n",
    "      fill acc_o[:, :], 0.0\n": "      fill acc_w[:, :], 0.0\n",
    "        gemm P[:, :], V_s[:, :] -> acc_o[:, :]\n": "        parallel (r, d) in (64, 64) "
    "{ store acc_w[r, d] = acc_w[r, d] * alpha[r] }\n"
    "        copy K[z : +1, j * 64 : +64, 0 : +64] -> W_s[:, :] clip\n"
    "        gemm P[:, :], W_s[:, :] -> acc_w[:, :]\n",
    "      parallel (r, d) in (64, 64) { store acc_o[r, d] = acc_o[r, d] / l[r] }\n": "      "
    "parallel (r, d) in (64, 64) { store acc_o[r, d] = acc_o[r, d] - acc_w[r, d] / l[r] }\n",
}


def attention(programs: Any, name: str) -> str:
    text = programs.source("attention", stages=2)
    if name == "soft cap":
        return text.replace(OLD_MAX, f"        {SOFT_CAP}\n{OLD_MAX}")
    if name == "bias":
        return text.replace(OLD_MAX, f"        {BIAS}\n{OLD_MAX}")
    if name == "masked bias":
        return text.replace(", acc_s[r, q], -10000.0)", f", {MASKED}, -10000.0)")
    if name == "full":
        return text.replace("bm * 64 + r >= j * 64 + q,", "j * 64 + q < S,").replace(
            "min(S, (bm + 1) * 64)", "S"
        )
    for before, more in SECOND.items():
        assert before in text
        text = text.replace(before, before + more)
    return text


def made_of(text: str, pins: Any = None) -> tuple[Any, Any]:
    fn = parse_function(text)
    cx = PassContext(target=toy_spec("async"), pins=pins or {})
    return fn, run_pipeline(device_pipeline(), State(function=fn), cx).state


def equal(before: Any, after: Any, args: Any) -> None:
    want = run(before, args)
    for schedule in ("late", "issue"):
        got = run(after, args, schedule=schedule)  # type: ignore[arg-type]  # one of the two
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["soft cap", "bias", "masked bias", "full", "second values"])
def test_attention_with_a_twist_still_overlaps(programs: Any, name: str) -> None:
    fn, state = made_of(attention(programs, name))
    lagging = {n for n, _ in state.plan.value("attn.j.stage", ()) if n.startswith("gemm")}
    assert lagging
    assert lagging <= {"gemm:acc_o", "gemm:acc_w"}
    assert state.plan.value("attn.gemm:acc_s.a_home", "") == "register"
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved", verdict.reason
    rng = np.random.default_rng(5)
    for size in (64, 130):
        q, k, v = (rng.integers(-2, 3, (1, size, 64)).astype(np.float16) for _ in range(3))
        out = np.zeros((1, size, 64), np.float32)
        equal(fn, state.function, {"Q": q, "K": k, "V": v, "O": out})


WITH_BIAS = """tile.ir 1.0 tile
func @act(A: global f16[M, K], B: global f16[K, N], bias: global f32[N], C: global f16[M, N]) dims (M, N, K) {
  kernel @act threads = (@T) {
    tiles (bx, by) in (ceildiv(N, 64), ceildiv(M, @R)) {
      alloc A_s: shared f16[@R, 32]
      alloc B_s: shared f16[32, 64]
      alloc b_l: fragment f32[64]
      alloc C_l: fragment f32[@R, 64]
      fill C_l[:, :], 0.0
      copy bias[bx * 64 : +64] -> b_l[:] clip
      for k in (0, ceildiv(K, 32), 1) pipelined num_stages = 3 {
        copy A[by * @R : +@R, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, bx * 64 : +64] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      parallel (i, j) in (@R, 64) { store C_l[i, j] = max(C_l[i, j] + b_l[j], 0.0) }
      copy C_l[:, :] -> C[by * @R : +@R, bx * 64 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line


@pytest.mark.parametrize(("threads", "rows"), [(128, 64), (256, 128), (384, 192), (128, 128)])
@pytest.mark.parametrize("k", [1, 40, 200])
def test_a_result_with_bias_leaves_during_the_next_tile(threads: int, rows: int, k: int) -> None:
    fn, state = made_of(WITH_BIAS.replace("@T", str(threads)).replace("@R", str(rows)))
    assert state.plan.value("act.copy:C.interleave", ()) == ("k", "C_stage_ring")
    text = print_function(state.function)
    assert "copy C_l[:, :] -> C_l_held[:, :]" in text
    assert text.index("max(C_l") < text.index("-> C_l_held")
    rng = np.random.default_rng(k)
    args = {
        "A": rng.integers(-2, 3, (200, k)).astype(np.float16),
        "B": rng.integers(-2, 3, (k, 200)).astype(np.float16),
        "bias": rng.integers(-2, 3, 200).astype(np.float32),
        "C": np.zeros((200, 200), np.float16),
    }
    equal(fn, state.function, args)


def test_what_the_peeled_iterations_declare_has_names_of_its_own() -> None:
    in_halves = """        parallel (i, j) in (32, 64) {
          alloc half: var f32[]
          store half[] = f32(B_s[i, j]) * 0.5
          let whole: f32 = half[] * 2.0
          store B_t[i, j] = f16(whole)
        }
        gemm A_s[:, :], B_t[:, :]"""
    text = WITH_BIAS.replace("@T", "128").replace("@R", "64")
    text = text.replace("        gemm A_s[:, :], B_s[:, :]", in_halves)
    text = text.replace("alloc b_l", "alloc B_t: shared f16[32, 64]\n      alloc b_l")
    fn, state = made_of(text)
    assert state.plan.value("act.copy:C.interleave", ()) == ("k", "C_stage_ring")
    halves = [s.buffer.name for s in walk(state.function.body) if isinstance(s, Alloc)]
    assert len([name for name in halves if name.startswith("half")]) > 1
    rng = np.random.default_rng(0)
    args = {
        "A": rng.integers(-2, 3, (70, 40)).astype(np.float16),
        "B": rng.integers(-2, 3, (40, 70)).astype(np.float16),
        "bias": rng.integers(-2, 3, 70).astype(np.float32),
        "C": np.zeros((70, 70), np.float16),
    }
    equal(fn, state.function, args)


def test_one_product_is_always_in_flight_while_results_leave() -> None:
    _, state = made_of(WITH_BIAS.replace("@T", "256").replace("@R", "128"))
    stmts = list(walk(state.function.body))
    lead = next(i for i, s in enumerate(stmts) if isinstance(s, Issue) and s.engine == "mma")
    store = next(i for i, s in enumerate(stmts) if isinstance(s, Issue) and s.engine == "box_store")
    assert lead < store
    assert not any(isinstance(s, Settle) for s in stmts[lead:store])


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_do_the_same(workers: int) -> None:
    fn, state = made_of(WITH_BIAS.replace("@T", "128").replace("@R", "64"))
    cx = PassContext(target=toy_spec("async"))
    lowered = builtin("lower-threads")(state, cx).function
    rng = np.random.default_rng(workers)
    args = {
        "A": rng.integers(-2, 3, (200, 72)).astype(np.float16),
        "B": rng.integers(-2, 3, (72, 200)).astype(np.float16),
        "bias": rng.integers(-2, 3, 200).astype(np.float32),
        "C": np.zeros((200, 200), np.float16),
    }
    want = run(fn, args)
    got = run(lowered, args, target=cx.target, workers=workers)
    np.testing.assert_array_equal(got["C"], want["C"])
