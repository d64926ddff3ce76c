"""Moves within one buffer: which are staged, and that values stay bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Alloc
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.verify import verify
from tile_passes.base import PassContext
from tile_passes.legalize.stage_overlaps import stage_overlaps
from tile_passes.plan.model import Plan

TEXT = """tile.ir 1.0 tile
func @f(A: global f32[16, 16], C: global f32[16, 16]) {
  kernel @f threads = (64) {
    tiles (bx) in (1) {
      alloc s: shared f32[16, 16]
      view turned: shared f32[16, 16] of s
      copy A[:, :] -> s[:, :]
      for k in (0, 4, 1) serial {
        #
      }
      copy s[:, :] -> C[:, :]
    }
  }
}
"""
CX = PassContext(target=toy_spec("sync"))
STAGED = (
    "copy s[0 : +15, :] -> s[1 : +15, :]",
    "copy s[:, 3 : +13] -> s[:, 0 : +13]",
    "copy s[k : +8, :] -> s[0 : +8, :]",
    "copy s[k : +8, :] -> s[k + 5 : +8, :]",
    "transpose s[:, :] -> s[:, :]",
    "transpose s[0 : +4, 0 : +8] -> s[0 : +8, 0 : +4]",
    "transpose turned[:, :] -> s[:, :]",
    "scan sum s[0 : +8, :] -> s[4 : +8, :] dim = 0",
    "reduce sum s[:, :] -> s[k, :] dim = 0",
)
LEFT = (
    "copy s[0 : +8, :] -> s[8 : +8, :]",
    "copy s[k : +4, :] -> s[k + 4 : +4, :]",
    "copy s[:, :] -> s[:, :]",
    "transpose s[0 : +4, 0 : +8] -> s[8 : +8, 0 : +4]",
    "scan sum s[:, :] -> s[:, :] dim = 0",
    "transpose A[:, :] -> s[:, :]",
)


def allocated(fn):
    return sum(isinstance(s, Alloc) for s in walk(fn.body))


@pytest.mark.parametrize("statement", STAGED)
def test_what_may_meet_is_read_first(statement):
    before = parse_function(TEXT.replace("#", statement))
    after = stage_overlaps(before, CX, Plan())
    assert verify(after) == ()
    assert allocated(after) == allocated(before) + 1
    assert stage_overlaps(after, CX, Plan()) is after
    given = {"A": np.random.default_rng(0).standard_normal((16, 16), dtype=np.float32)}
    given["C"] = np.zeros((16, 16), np.float32)
    want, got = run(before, given), run(after, given)
    np.testing.assert_array_equal(got["C"], want["C"])


@pytest.mark.parametrize("statement", LEFT)
def test_what_is_apart_or_in_place_is_left(statement):
    fn = parse_function(TEXT.replace("#", statement))
    assert stage_overlaps(fn, CX, Plan()) is fn
