"""Arrays that every thread has for itself: outside of roles each has all of their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tile_ir.ops import Store, Sync
from tile_ir.rewrite import walk
from tile_ir.text import parse_function

if TYPE_CHECKING:
    from tile_ir.core import Function

WIDE = np.arange(96, dtype=np.float32).reshape(6, 16)


def through(first: str, second: str) -> Function:
    return parse_function(f"""
func @f(A: global f32[6, 16], B: global f32[6, 16]) {{
  kernel @f threads = (64) {{
    tiles (b) in (2) {{
      alloc x: {first} f32[3, 16]
      alloc y: {second} f32[3, 16]
      copy A[b * 3 : +3, 0 : +16] -> x[:, :]
      copy x[:, :] -> y[:, :]
      copy y[:, :] -> B[b * 3 : +3, 0 : +16]
    }}
  }}
}}
""")


@pytest.mark.parametrize("first", ["shared", "fragment", "local"])
@pytest.mark.parametrize("second", ["shared", "fragment", "local"])
def test_copies_give_every_thread_all_elements(threads: Any, first: str, second: str) -> None:
    low = threads.compare(through(first, second), {"A": WIDE, "B": np.zeros_like(WIDE)})
    met = sum(isinstance(s, Sync) for s in walk(low.body))
    assert met == {"fragmentlocal": 1, "locallocal": 0}.get(first + second, met)


MIXED = """
func @f(A: global i32[16], B: global i32[16], C: global i32[16]) {
  kernel @f threads = (64) {
    tiles (b) in (1) {
      alloc mine: local i32[16]
      alloc held: fragment i32[16]
      alloc total: local i32[1]
      fill mine[:], 3
      copy A[0 : +16] -> held[:]
      parallel (i) in (16) {
        let at = 15 - i
        store mine[at] = mine[at] + held[i]
        store B[i] = held[i] * 2
      }
      reduce sum mine[:] -> total[:] dim = 0
      parallel (i) in (16) {
        store C[i] = mine[i] + total[0]
      }
    }
  }
}
"""


def test_iterations_that_fill_an_array_run_in_every_thread(threads: Any) -> None:
    """What they write to memory is written once."""
    a = np.arange(16, dtype=np.int32)
    args = {"A": a, "B": np.zeros_like(a), "C": np.zeros_like(a)}
    low = threads.compare(parse_function(MIXED), args)
    assert sum(isinstance(s, Store) and s.buffer == "B" for s in walk(low.body)) == 1


SCRATCH = """
func @f(A: global i32[64, 4], B: global i32[64]) {
  kernel @f threads = (64) {
    tiles (b) in (1) {
      alloc line: local i32[4]
      parallel (i) in (64) {
        for k in (0, 4, 1) serial { store line[k] = A[i, k] }
        store B[i] = line[3] - line[0]
      }
    }
  }
}
"""


def test_scratch_of_an_iteration_stays_with_its_thread(threads: Any) -> None:
    a = np.arange(256, dtype=np.int32).reshape(64, 4) ** 2
    low = threads.compare(parse_function(SCRATCH), {"A": a, "B": np.zeros(64, np.int32)})
    assert not any(isinstance(s, Sync) for s in walk(low.body))
