"""Prove that the barriers of a kernel's own are used right, or show how they are not.

The kernel is run for every combination of small values of what it is launched with, which decides
trip counts; constant trip counts are run as they are. Each run judges all of its interleavings at
once. *Proved* where nothing but constants decides; *bounded* where larger numbers were not tried.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.ops import Assume, Let, Tiles
from tile_ir.rewrite import declared, walk
from tile_passes.analysis.facts import Facts
from tile_passes.protocol.hand_machine import HandMachine, MisuseError
from tile_passes.protocol.hand_program import program_of
from tile_passes.protocol.skeleton import NotCoveredError
from tile_passes.protocol.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Function
    from tile_ir.expr import Expr
    from tile_ir.ops import Kernel
    from tile_passes.protocol.hand_machine import Step
    from tile_passes.protocol.hand_program import Program

__all__ = ["check_hand_written"]

MOST_STEPS = 60_000
"""Instructions over all runs; about 300 ms."""

_SHOWN = 12
"""Steps of the interleaving that an error shows."""


def check_hand_written(fn: Function, kernel: Kernel) -> Verdict:
    """The verdict on a kernel whose barriers are its own."""
    try:
        program = program_of(kernel, declared(fn))
    except NotCoveredError as unknown:
        return Verdict(kernel.name, "not covered", str(unknown))
    facts = _facts(fn, kernel)
    budget, runs = MOST_STEPS, 0
    for values in _assignments(program, facts):
        machine = HandMachine(program, values)
        runs += 1
        try:
            machine.run(budget)
        except KeyError as scalar:
            why = f"{scalar.args[0]} may be used before it has a value"
            return Verdict(kernel.name, "not covered", why, runs)
        except TimeoutError:
            return Verdict(kernel.name, "bounded", "the search was cut off", runs)
        except MisuseError as found:
            if not found.sure:
                why = "which part of a buffer is touched is not known"
                return Verdict(kernel.name, "not covered", why, runs)
            error = _error(kernel, machine, found, values)
            return Verdict(kernel.name, "violated", error.message, runs, error)
        budget -= machine.steps
    if not program.symbols:
        return Verdict(kernel.name, "proved", "all trips were run", runs)
    tried = f"{', '.join(map(str, program.symbols))} up to {_most(program)}"
    return Verdict(kernel.name, "bounded", tried, runs)


def _facts(fn: Function, kernel: Kernel) -> Facts:
    facts = Facts.of_dims(fn.dims)
    tiles = next(s for s in walk(kernel.body) if isinstance(s, Tiles))
    for var, extent in zip(tiles.vars, tiles.extents, strict=True):
        facts = facts.bind(var, b.const(0, var.dtype), extent)
    for s in tiles.body:
        if isinstance(s, Let) and s.var.dtype.is_int:
            facts = facts.let(s.var, s.value)
        elif isinstance(s, Assume):
            facts = facts.assume(s.cond)
    return facts


def _most(program: Program) -> int:
    """Trips enough for every slot of every ring to be used anew, and once more."""
    return 2 * max((s.count for s in program.barriers.values()), default=1) + 2


def _assignments(program: Program, facts: Facts) -> Iterator[dict[Expr, int]]:
    symbols = list(program.symbols)
    most = _most(program) if len(symbols) < 3 else 3
    choices = [range(2) if s.dtype.is_bool else range(most + 1) for s in symbols]
    for chosen in product(*choices):
        values = dict(zip(symbols, chosen, strict=True))
        if _possible(facts, values):
            yield values


def _possible(facts: Facts, values: dict[Expr, int]) -> bool:
    for symbol, value in values.items():
        if symbol.dtype.is_int:
            facts = facts.assume(b.eq(symbol, b.const(value, symbol.dtype)))
    return not facts.contradictory()


def _error(
    kernel: Kernel, machine: HandMachine, found: MisuseError, values: dict[Expr, int]
) -> TileError:
    where = ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
    notes = [f"with {where}"] if where else []
    notes += _timeline(machine.log[-_SHOWN:])
    return TileError(
        "E0711",
        f"kernel {kernel.name}: {found.message}",
        found.instr.span,
        notes=notes,
        help=found.fix,
    )


def _timeline(steps: list[Step]) -> list[str]:
    """A line for each step, a column for each role."""
    if not steps:
        return ["it happens in the first step"]
    roles = sorted({s.role for s in steps})
    width = {r: max(len(r), *(len(s.text) for s in steps if s.role == r)) for r in roles}

    def row(cells: dict[str, str], last: str) -> str:
        return " | ".join([*(cells.get(r, "").ljust(width[r]) for r in roles), last]).rstrip()

    lines = [row({r: r or "kernel" for r in roles}, "line")]
    for s in steps:
        span = s.instr.span
        lines.append(row({s.role: s.text}, "" if span is None else str(span.line)))
    return ["the last steps, from top to bottom:", *lines]
