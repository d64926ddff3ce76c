"""Moves between registers and shared tiles that are stored column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.expr import Load
from tile_ir.ops import Store
from tile_ir.rewrite import walk
from tile_ir.text import parse_function

PROGRAM = """tile.ir 1.0 tile
func @f(A: global @A[32, 64], B: global f32[32, 64]) results (B) {
  kernel @f threads = (64) {
    tiles (bx) in (1) {
      alloc s: shared @S[32, 64] layout [@L]
      alloc x: fragment @A[32, 64] layout [@X -> (d0, d1)]
      alloc y: fragment f32[32, 64] layout [@Y -> (d0, d1)]
      copy A[:, :] -> x[:, :]
      copy x[:, :] -> s[:, :]
      copy s[:, :] -> y[:, :]
      copy y[:, :] -> B[:, :]
    }
  }
}
"""
COLUMNS = "d0 (32:1) d1 (64:32)"
BLOCKS = "thread (16:d1*4, 4:d0*8) value (4:d1*1, 8:d0*1)"
RUNS = "thread (64:d1*1) value (32:d0*1)"


def program(layout: str, x: str, y: str, kind: str, stored: str) -> Any:
    text = PROGRAM.replace("@A", kind).replace("@S", stored).replace("@L", layout)
    return parse_function(text.replace("@X", x).replace("@Y", y))


def arguments(kind: str) -> dict[str, Any]:
    a = np.random.default_rng(1).integers(-100, 100, (32, 64))
    types = {"f16": np.float16, "f32": np.float32, "i8": np.int8}
    return {"A": a.astype(types[kind]), "B": np.zeros((32, 64), np.float32)}


def widths(low: Any, buffer: str) -> tuple[set[int], set[int]]:
    """The elements of the accesses that write and that read a buffer."""
    stores = [s for s in walk(low.body) if isinstance(s, Store)]
    written = {s.value.dtype.lanes for s in stores if s.buffer == buffer}
    read = {
        s.value.dtype.lanes
        for s in stores
        if isinstance(s.value, Load) and s.value.buffer == buffer
    }
    return written, read


@pytest.mark.parametrize(
    ("layout", "wide"),
    [
        (COLUMNS, 8),
        ("d0 (32:1) d1 (64:32) swizzle<2,4,3>", 8),
        ("d0 (32:1) d1 (64:32) swizzle<3,3,4>", 4),
        ("d0 (16:1, 2:1024) d1 (64:16) swizzle<1,4,3>", 8),
        ("d0 (32:1) d1 (64:34)", 2),
    ],
)
def test_runs_down_columns_are_moved_at_once(threads: Any, layout: str, wide: int) -> None:
    fn = program(layout, BLOCKS, RUNS, "f16", "f16")
    low = threads.compare(fn, arguments("f16"), arch="plain", atol={"B": 0.0})
    written, _ = widths(low, "s")
    assert written == {wide}


@pytest.mark.parametrize(("kind", "stored"), [("f32", "f16"), ("i8", "f16"), ("f16", "f32")])
@pytest.mark.parametrize("x", [BLOCKS, RUNS])
@pytest.mark.parametrize("y", [BLOCKS, RUNS])
def test_elements_are_converted_on_the_way(
    threads: Any, kind: str, stored: str, x: str, y: str
) -> None:
    fn = program(COLUMNS, x, y, kind, stored)
    low = threads.compare(fn, arguments(kind), arch="plain", atol={"B": 0.0})
    written, _ = widths(low, "s")
    assert written == {4 if stored == "f32" else 8}


def test_registers_that_are_the_run_are_moved_as_they_lie(threads: Any) -> None:
    low = threads.compare(
        program(COLUMNS, RUNS, RUNS, "f32", "f32"), arguments("f32"), arch="plain"
    )
    assert widths(low, "s") == ({4}, {4})
    assert "run" not in {s.buffer for s in walk(low.body) if isinstance(s, Store)}


def test_threads_without_a_run_move_elements(threads: Any) -> None:
    x = "thread (64:d1*1) value (16:d0*2, 2:d0*1)"
    pairs = "thread (16:d0*2, 4:d1*1) value (2:d0*1, 16:d1*4)"
    low = threads.compare(program(COLUMNS, x, pairs, "f16", "f16"), arguments("f16"), arch="plain")
    assert widths(low, "s")[0] == {2}
    alone = "thread (32:d0*1, 2:d1*1) value (32:d1*2)"
    low = threads.compare(
        program(COLUMNS, alone, alone, "f16", "f16"), arguments("f16"), arch="plain"
    )
    assert widths(low, "s")[0] == {1}
