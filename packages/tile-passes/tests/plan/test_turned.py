"""Shared tiles that threads cross: the exchange of a row's pieces is the one with fewest cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.layout import BankModel, parse_layout, warp_cycles
from tile_ir.ops import Alloc
from tile_ir.rewrite import declared, walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.types import dtype
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.plan.turned import Step, by_turns, crossings

if TYPE_CHECKING:
    from tile_ir.core import Buffer

TURNED = """tile.ir 1.0 tile
func @f(A: global f16[64, 64], B: global f16[64, 64]) results (B) {
  kernel @f threads = (128) {
    tiles (bx) in (1) {
      alloc s: shared f16[64, 64]
      alloc y: fragment f16[64, 64]
      copy A[:, :] -> s[:, :]
      @S
      copy y[:, :] -> B[:, :]
    }
  }
}
"""
TRANSPOSE = "transpose s[:, :] -> y[:, :]"
LOOP = "parallel (i, j) in (64, 64) { store y[i, j] = s[j, i] }"
RUNS = "thread (8:d1*8, 16:d0*1) value (8:d1*1, 4:d0*16)"
"""Eight numbers of a row for each thread: of a column, where the tile is crossed."""


def layout_of(programs: Any, text: str, name: str = "s") -> str:
    plan = programs.planned(parse_function(text), "sync").plan
    return str(plan.value(f"f.{name}.layout", ""))


def tile(kind: str, rows: int, columns: int) -> Buffer:
    text = f"func @f(A: global f16[1]) {{ alloc s: shared {kind}[{rows}, {columns}] }}"
    found = declared(parse_function(f"tile.ir 1.0 tile\n{text}"))["s"]
    assert found.dtype is dtype(kind)
    return found


def crossed(text: str) -> Any:
    """The layout with d0 and d1 exchanged."""
    swapped = text.replace("d0", "x").replace("d1", "d0").replace("x", "d1")
    return parse_layout(f"{swapped} -> (d0, d1)")


@pytest.mark.parametrize("step", [TRANSPOSE, LOOP])
def test_a_crossed_tile_exchanges_by_the_rows_that_meet(programs: Any, step: str) -> None:
    """Runs of eight down a column: every eighth row of 128 bytes is taken at once."""
    text = TURNED.replace("@S", step)
    assert layout_of(programs, text) == "d0 (64:64) d1 (64:1) swizzle<3,4,6>"
    assert layout_of(programs, text, "y") == RUNS


def test_rows_that_are_read_as_rows_stay_in_order(programs: Any) -> None:
    text = TURNED.replace("@S", LOOP.replace("s[j, i]", "s[i, j]"))
    assert layout_of(programs, text) == "d0 (64:64) d1 (64:1)"


@pytest.mark.parametrize(
    "step",
    [
        LOOP.replace("s[j, i]", "s[j, i % 32]"),
        "view v: shared f16[4096] of s\n" + LOOP.replace("s[j, i]", "s[j, i] + v[i * 64 + j]"),
    ],
)
def test_a_tile_that_is_also_read_in_other_ways_stays_in_order(programs: Any, step: str) -> None:
    assert layout_of(programs, TURNED.replace("@S", step)) == "d0 (64:64) d1 (64:1)"


@pytest.mark.parametrize("step", [TRANSPOSE, LOOP])
@pytest.mark.parametrize("arch", ["sync", "async"])
def test_the_registers_are_filled_from_the_tile_itself(programs: Any, step: str, arch: str) -> None:
    """One shared tile, no copy of it and none of the result; and the right numbers."""
    made = programs.planned(parse_function(TURNED.replace("@S", step)), arch)
    low = lower_threads(made.after, toy_spec(arch))  # type: ignore[arg-type]  # one of the two
    tiles = [s.buffer for s in walk(low.body) if isinstance(s, Alloc)]
    assert [b.name for b in tiles if b.scope == "shared"] == ["s"]
    a = np.arange(64 * 64).reshape(64, 64).astype(np.float16)
    args = {"A": a, "B": np.zeros_like(a)}
    got = run(low, args, target=toy_spec(arch))  # type: ignore[arg-type]  # one of the two
    np.testing.assert_array_equal(got["B"], a.T)


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "held", "best", "cycles", "plain"),
    [
        ("f16", 64, 64, RUNS, "swizzle<3,4,6>", 128, 1024),
        ("f32", 32, 32, "thread (8:d1*4, 32:d0*1) value (4:d1*1)", "swizzle<3,4,5>", 32, 256),
        ("f32", 32, 32, "thread (32:d1*1, 4:d0*1) value (8:d0*4)", "swizzle<3,4,3>", 128, 1024),
    ],
)
def test_cycles_are_counted(
    kind: str, rows: int, columns: int, held: str, best: str, cycles: float, plain: float
) -> None:
    found = by_turns(tile(kind, rows, columns), (crossed(held),), None, toy_spec("sync"))
    assert (str(found[0].value), found[0].cost) == (
        f"d0 ({rows}:{columns}) d1 ({columns}:1) {best}",
        cycles,
    )
    rest = {str(c.value): c.cost for c in found}
    assert rest[f"d0 ({rows}:{columns}) d1 ({columns}:1)"] == plain
    # The same by hand: the first element of each thread of a warp, for the best and for rows.
    scope = toy_spec("sync").scopes["shared"]
    model = BankModel(banks=scope.banks, bank_bytes=scope.bank_bytes)
    taken, size = crossed(held), dtype(kind).storage_bits // 8
    for candidate in found:
        layout: Any = parse_layout(str(candidate.value))
        each = []
        for value in range(taken.values):
            for first in range(0, taken.threads, 32):
                at = [taken.coord(t, value) for t in range(first, first + 32)]
                offsets = [layout.offset(c, 8 * size) * size for c in at]
                each.append(warp_cycles(offsets, size, model).cycles)
        assert sum(each) == candidate.cost


def test_an_engine_limits_the_exchanges() -> None:
    known = frozenset({"swizzle<3,4,3>"})
    found = by_turns(tile("f16", 64, 64), (crossed(RUNS),), known, toy_spec("sync"))
    assert [str(c.value) for c in found] == [
        "d0 (64:64) d1 (64:1)",
        "d0 (64:64) d1 (64:1) swizzle<3,4,3>",
    ]


def test_rows_that_are_no_power_of_two_have_no_exchange() -> None:
    held = parse_layout("thread (32:d0*1) value (24:d1*1)")
    assert isinstance(held, type(crossed(RUNS)))
    found = by_turns(tile("f32", 32, 24), (held,), None, toy_spec("sync"))
    assert [str(c.value) for c in found] == ["d0 (32:24) d1 (24:1)"]


def test_between_shared_tiles_neighbours_write_a_row() -> None:
    fn = parse_function(
        """tile.ir 1.0 tile
        func @f(A: global f32[1]) {
          kernel @f threads = (32) {
            tiles (bx) in (1) {
              alloc s: shared f32[32, 32]
              alloc t: shared f32[32, 32]
              transpose s[:, :] -> t[:, :]
            }
          }
        }"""
    )
    (step,) = (s for s in walk(fn.body) if type(s).__name__ == "Transpose")
    found = crossings([Step(stmt=step, threads=32)], declared(fn), {})
    assert {name: str(layouts[0]) for name, layouts in found.items()} == {
        "s": "thread (32:d0*1) value (32:d1*1) -> (d0, d1)"
    }
