"""Fragments that nothing but copies lays out: a thread's run is what memory moves at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.expr import Load
from tile_ir.interp import run
from tile_ir.ops import Store
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.lower.threads.lower_threads import lower_threads

PROGRAM = """tile.ir 1.0 tile
func @f(A: global @A[4, @N], B: global @B[4, @N]) results (B) {
  kernel @f threads = (128) {
    tiles (bx) in (1) {
      alloc x: fragment f32[4, @N]
      copy A[:, :] -> x[:, :]
      copy x[:, :] -> B[:, :]
    }
  }
}
"""


@pytest.mark.parametrize(
    ("a", "c", "n", "layout", "read", "written"),
    [
        ("f16", "f16", 1024, "thread (128:d1*8) value (8:d1*1, 4:d0*1)", 8, 8),
        ("f32", "f32", 1024, "thread (128:d1*4) value (4:d1*1, 2:d1*512, 4:d0*1)", 4, 4),
        ("f16", "f32", 1024, "thread (128:d1*4) value (4:d1*1, 2:d1*512, 4:d0*1)", 4, 4),
        # Runs of 8 would leave threads without any.
        ("f16", "f16", 128, "thread (32:d1*4, 4:d0*1) value (4:d1*1)", 4, 4),
        ("f16", "f16", 1028, "thread (32:d1*4, 4:d0*1) value (4:d1*1, 9:d1*128)", 4, 4),
    ],
)
def test_runs_are_as_long_as_accesses_to_memory(
    programs: Any, a: str, c: str, n: int, layout: str, read: int, written: int
) -> None:
    text = PROGRAM.replace("@A", a).replace("@B", c).replace("@N", str(n))
    made = programs.planned(parse_function(text), "sync")
    assert str(made.plan.value("f.x.layout", "")).removesuffix(" -> (d0, d1)") == layout
    low = lower_threads(made.after, toy_spec("sync"))
    stores = [s for s in walk(low.body) if isinstance(s, Store)]
    loads = [x for s in stores for x in (s.value, *s.value.children()) if isinstance(x, Load)]
    assert {x.dtype.lanes for x in loads if x.buffer == "A"} == {read}
    assert {s.value.dtype.lanes for s in stores if s.buffer == "B"} == {written}
    types = {"f16": np.float16, "f32": np.float32}
    x = np.random.default_rng(0).integers(-9, 9, (4, n)).astype(types[a])
    got = run(low, {"A": x, "B": np.zeros((4, n), types[c])}, target=toy_spec("sync"))
    np.testing.assert_array_equal(got["B"], x)
