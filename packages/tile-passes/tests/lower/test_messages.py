"""Printed tiles become loops that print element by element."""

import numpy as np

from tile_ir.interp import run
from tile_ir.text import parse_function, print_function
from tile_passes.lower.lower_tiles import lower_tiles

PRINTS = """tile.ir 1.0 tile
func @f(A: global i32[2, 3]) {
  kernel @f {
    tiles (bx) in (1) {
      print "sum", [A[0, 0] + A[1, 2]]
      print "row", [region A[1, 1 : +2]]
    }
  }
}
"""


def lines_of(fn):
    """Return what a function prints."""
    lines = []
    run(fn, {"A": np.arange(6, dtype=np.int32).reshape(2, 3)}, lines=lines)
    return lines


def test_a_region_prints_one_element_a_line():
    before = parse_function(PRINTS)
    assert lines_of(before) == ["sum 5", "row [[4 5]]"]
    after = lower_tiles(before)
    assert lines_of(after) == ["sum 5", "row", "A[1, 1] = 4", "A[1, 2] = 5"]
    assert "region" not in print_function(after)


def test_scalars_are_left_alone():
    fn = parse_function(PRINTS.replace('      print "row", [region A[1, 1 : +2]]\n', ""))
    assert lower_tiles(fn) is fn
