"""Tiles with longer rows than a box may have: a box for each piece of each row."""

from __future__ import annotations

import numpy as np

from tile_ir.interp import run
from tile_ir.ops import BoxLoad
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.lower.threads.lower_threads import lower_threads

LONG_ROWS = """
func @f(A: global f16[32, 1024], B: global f16[32, 1024]) stage scheduled {
  kernel @f threads = (256) {
    tiles (x) in (1) {
      alloc s: shared f16[4, 1024] slots 2 offset 0 layout [d0 (4:1024) d1 (1024:1)]
      channel c: ring(2) carries (s) from engine box_load to role compute arrivals 4 bytes = 8192
      role producer warps = 4, elect = 1 {
        for k in (0, 8, 1) serial {
          acquire c
          issue box_load onto = c { copy A[k * 4 : +4, :] -> s@c[:, :] }
          commit c
        }
      }
      role compute warps = 4 {
        for k in (0, 8, 1) serial {
          alloc r: fragment f16[4, 1024] layout [thread (128:d1*8) value (8:d1*1, 4:d0*1)]
          wait c
          copy s@c[:, :] -> r[:, :]
          release c
          copy r[:, :] -> B[k * 4 : +4, :]
        }
      }
    }
  }
}
"""


def test_rows_of_1024_come_in_boxes_of_256() -> None:
    low = lower_threads(parse_function(LONG_ROWS), toy_spec("async"))
    (load,) = (s for s in walk(low.body) if isinstance(s, BoxLoad))
    sizes = [int(r.extent.value) for r in load.src.ranges]  # type: ignore[attr-defined]  # static
    assert sizes == [1, 256]
    a = np.random.default_rng(0).standard_normal((32, 1024)).astype(np.float16)
    args = {"A": a, "B": np.zeros_like(a)}
    got = run(low, args, target=toy_spec("async"))
    np.testing.assert_array_equal(got["B"], a)
