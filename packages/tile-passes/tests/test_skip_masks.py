"""Masks under a branch: which statements get one, and that values stay bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.base import PassContext
from tile_passes.legalize.skip_masks import skip_masks
from tile_passes.plan.model import Plan

TEXT = """tile.ir 1.0 tile
func @f(A: global f32[M, 32], n: global i32[4], C: global f32[M, 32]) dims (M) {
  kernel @f threads = (64) {
    tiles (bx) in (ceildiv(M, 16)) {
      alloc S: fragment f32[16, 32]
      alloc x: fragment f32[16]
      copy A[bx * 16 : +16, :] -> S[:, :] clip
      reduce max S[:, :] -> x[:] dim = 1
      for j in (0, 4, 1) serial {
        #
      }
      copy S[:, :] -> C[bx * 16 : +16, :] clip
    }
  }
}
"""
CX = PassContext(target=toy_spec("sync"))


def changed(statement: str) -> tuple[Any, Any]:
    before = parse_function(TEXT.replace("#", statement))
    after = skip_masks(before, CX, Plan())
    assert verify(after) == ()
    return before, after


def arguments(m: int) -> dict[str, Any]:
    rng = np.random.default_rng(m)
    a = rng.standard_normal((m, 32)).astype(np.float32)
    n = np.array([40, 31, 7, 0], np.int32)
    return {"A": a, "n": n, "C": np.zeros_like(a)}


def loop(value: str, box: str = "(r, c) in (16, 32)", at: str = "S[r, c]") -> str:
    return f"parallel {box} {{ store {at} = {value} }}"


MASKS = {
    "causal": ("select(j * 8 + c < bx * 16 + r, S[r, c], -inf)", "if j * 8 + 32 > bx * 16 {"),
    "turned": ("select(j * 8 + c >= bx * 16 + r, 0.5, S[r, c])", "if j * 8 + 32 > bx * 16 {"),
    "ragged": ("select(c < n[j], S[r, c], 0.0)", "if 32 > n[j] {"),
    "both": (
        "select(c < n[j] and j * 8 + c < bx * 16 + r, S[r, c], -inf)",
        "if 32 > n[j] or j * 8 + 32 > bx * 16 {",
    ),
    "window": (
        "select(j * 8 + c < bx * 16 + r and j * 8 + c + 9 > bx * 16 + r, S[r, c], -inf)",
        "if j * 8 + 32 > bx * 16 or bx * 16 + 7 > j * 8 {",
    ),
    "shorter of two": (
        "select(j * 8 + c < min(n[j], bx * 16 + r), S[r, c], -inf)",
        "if j * 8 + 32 > min(bx * 16, n[j]) {",
    ),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("m", [1, 16, 70])
def test_a_mask_is_skipped_where_it_masks_nothing(name: str, m: int) -> None:
    value, guard = MASKS[name]
    before, after = changed(loop(value))
    args = arguments(m)
    np.testing.assert_array_equal(run(after, args)["C"], run(before, args)["C"])
    lines = [s.strip() for s in print_function(after).splitlines()]
    assert [s for s in lines if s.startswith("if ")] == [guard]
    assert sum(s.startswith("parallel") for s in lines) == 1


@pytest.mark.parametrize("m", [1, 16, 70])
def test_a_value_is_computed_first_and_masked_in_place(m: int) -> None:
    before, after = changed(loop("select(j * 8 + c < bx * 16 + r, S[r, c] * x[r] + 1.0, -inf)"))
    lines = [s.strip() for s in print_function(after).splitlines()]
    assert "store S[r, c] = S[r, c] * x[r] + 1.0" in lines
    assert "store S[r, c] = select(j * 8 + c < bx * 16 + r, S[r, c], -inf)" in lines
    args = arguments(m)
    np.testing.assert_array_equal(run(after, args)["C"], run(before, args)["C"])


@pytest.mark.parametrize(
    "statement",
    [
        loop("select(S[r, c] < 1.0, S[r, c], 0.0)"),  # each element decides for itself
        loop("select(c * j < 9, S[r, c], 0.0)"),  # no corner is the worst one for every j
        loop("select(c < 40, S[r, c], 0.0)"),  # holds anyway, which simplify says
        loop("select(j * 8 < r, x[r], 0.0)", "(r) in (16)", "x[r]"),  # a row
        loop("select(j * 8 + c < M, A[j * 8 + c, r], 0.0)"),  # the mask guards the access
    ],
)
def test_what_is_no_mask_stays(statement: str) -> None:
    before, after = changed(statement)
    assert after is before


def test_a_loop_that_has_its_branch_gets_no_second_one() -> None:
    for value, _ in MASKS.values():
        _, once = changed(loop(value))
        assert skip_masks(once, CX, Plan()) is once
