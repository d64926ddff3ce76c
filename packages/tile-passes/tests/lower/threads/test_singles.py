"""Statements between tile operations: all threads compute values, one writes what they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_ir.interp import run
from tile_ir.ops import Atomic, If, Store, Sync
from tile_ir.rewrite import walk
from tile_ir.text import parse_function, print_function

IN_PLACE = """
func @twice(X: global i32[n], limit: i32) dims (n) {
  kernel @twice threads = (64) {
    tiles (b) in (ceildiv(n, 16)) {
      for i in (0, 16, 1) serial {
        let at = b * 16 + i
        if at >= n { break }
        if X[at] > limit { store X[at] = X[at] * 2; continue }
        store X[at] = X[at] + 1
        if X[at] == limit { store X[at] = -X[at] }
      }
    }
  }
}
"""


def test_a_value_in_memory_is_updated_once(threads: Any) -> None:
    x = np.arange(-20, 20, dtype=np.int32)
    low = threads.compare(parse_function(IN_PLACE), {"X": x, "limit": 7})
    guards = [s for s in walk(low.body) if isinstance(s, If) and "tid == 0" in condition(s)]
    assert sum(isinstance(s, Store) for g in guards for s in g.then) == 3
    assert sum(isinstance(s, Store) for s in walk(low.body)) == 3


def condition(s: If) -> str:
    return str(s.cond)


def test_conditions_are_read_before_their_values_are_written(threads: Any) -> None:
    """A thread that is late must not see what the first one stored: a barrier stands between."""
    text = print_function(threads.lowered(IN_PLACE))
    branches = text.split("if select(")[1:]
    first = [branch.split("{", 1)[1].split()[:2] for branch in branches]
    assert first == [["sync", "block"]] * 2


ATOMIC = """
func @count(X: global i32[4], Y: global i32[1]) {
  kernel @count threads = (64) {
    tiles (b) in (3) {
      atomic add X[b], 2
      atomic add Y[0], X[b] result = old
      store X[3] = old
    }
  }
}
"""


def test_a_global_update_is_made_by_one_thread(threads: Any) -> None:
    low = threads.lowered(ATOMIC)
    updates = [s for s in walk(low.body) if isinstance(s, Atomic)]
    guarded = [
        t for s in walk(low.body) if isinstance(s, If) for t in s.then if isinstance(t, Atomic)
    ]
    assert updates == guarded
    assert any(isinstance(s, Sync) for s in walk(low.body))


PRINTS = """
func @show(X: global i32[2, 3]) {
  kernel @show threads = (64) {
    tiles (b) in (1) {
      alloc half: fragment f16[2, 2]
      fill half[:, :], 1.5
      print "sum {} of", [X[0, 0] + X[1, 2], X[0, 1]]
      print "row", [region half[1 : +1, 0 : +2]]
    }
  }
}
"""


def test_a_region_is_printed_once_element_by_element(threads: Any) -> None:
    low = threads.lowered(PRINTS)
    lines: list[str] = []
    run(low, {"X": np.arange(6, dtype=np.int32).reshape(2, 3)}, lines=lines)
    assert lines == ["sum 5 of 1", "row", "half[1, 0] = 1.5", "half[1, 1] = 1.5"]


TOLD = """
func @tell(X: global i32[64], Y: global i32[64], done: global i32[1]) {
  kernel @tell threads = (64) {
    tiles (b) in (1) {
      parallel (i) in (64) { store Y[i] = X[i] }
      atomic add done[0], 1 ORDER
      parallel (i) in (64) { store X[i] = X[i] + 1 }
    }
  }
}
"""


def test_all_threads_meet_around_an_atomic_with_an_order(threads: Any) -> None:
    """What it tells of is what the block did, and what it learns holds for the block."""
    body = walk(threads.lowered(TOLD.replace("ORDER", "order = acq_rel")).body)
    kinds = [type(s).__name__ for s in body if isinstance(s, (Atomic, Store, Sync))]
    assert kinds == ["Store", "Sync", "Atomic", "Sync", "Store"]
    plain = walk(threads.lowered(TOLD.replace("ORDER", "")).body)
    assert not [s for s in plain if isinstance(s, Sync)]
