"""Layouts of shared tiles that threads cross: filled along one axis, read along the other.

Rows of a whole number of bank rows put a column into a few banks. Exchanging the pieces of a row by
its number spreads the column. Which bits of the number serve depends on the rows that a warp takes
at once: neighbours where its lanes go down a column, every eighth where each lane has a run of it.
So the exchanges are tried and their cycles counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.layout import (
    BankModel,
    FragmentLayout,
    Swizzle,
    TileLayout,
    access_cycles,
    blocked,
    row_major,
)
from tile_ir.ops import Copy, Fill, Parallel, Transpose, View
from tile_ir.rewrite import all_effects, effects
from tile_passes.plan.model import Candidate
from tile_passes.plan.relations import accesses, loop_axes, positional

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec

__all__ = ["Step", "by_turns", "crossings"]

_PIECE_BITS = 4
"""Pieces of 16 bytes, which stay whole for the widest access."""
_MOST_BITS = 3
"""Eight pieces of 16 bytes are all banks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A statement of a kernel, the threads that run it, and who runs which iteration of a loop."""

    stmt: Stmt
    threads: int
    layout: FragmentLayout | None = None


def crossings(
    steps: Iterable[Step], buffers: Mapping[str, Buffer], held: Mapping[str, FragmentLayout]
) -> dict[str, tuple[FragmentLayout, ...]]:
    """Who takes which element, one at a time, of each shared tile of two axes that is crossed.

    `held` has the layouts of fragments. A tile is left out where a statement takes it in a way that
    no layout says, or as one piece of memory.
    """
    found: dict[str, list[FragmentLayout]] = {}
    unknown: set[str] = set()
    for step in steps:
        for name, layout in _taken(step, buffers, held):
            if layout is None:
                unknown.add(name)
            else:
                found.setdefault(name, []).append(layout)
    return {
        name: tuple(layouts)
        for name, layouts in found.items()
        if name not in unknown and any(map(_is_turned, layouts))
    }


def _taken(
    step: Step, buffers: Mapping[str, Buffer], held: Mapping[str, FragmentLayout]
) -> Iterator[tuple[str, FragmentLayout | None]]:
    stmt = step.stmt
    if isinstance(stmt, Transpose):
        yield from _of_transpose(stmt, step.threads, buffers, held)
    elif isinstance(stmt, Parallel):
        yield from _of_loop(stmt, step.layout, buffers)
    elif isinstance(stmt, View):
        yield from ((n, None) for n in (stmt.source, stmt.buffer.name))
    elif not isinstance(stmt, (Copy, Fill)):
        yield from ((e.buffer, None) for e in effects(stmt) if _is_tile(e.buffer, buffers))


def _is_tile(name: str, buffers: Mapping[str, Buffer]) -> bool:
    return name in buffers and buffers[name].scope == "shared" and buffers[name].rank == 2


def _of_transpose(
    s: Transpose,
    threads: int,
    buffers: Mapping[str, Buffer],
    held: Mapping[str, FragmentLayout],
) -> Iterator[tuple[str, FragmentLayout | None]]:
    """The side in registers says who takes what; without one, neighbours along the result's rows go
    to neighbouring threads."""
    over = None
    for region, turn in ((s.dst, False), (s.src, True)):
        known = held.get(region.buffer)
        if over is None and known is not None and len(region.ranges) == 2:
            over = _turned(known) if turn else known
    shape = _extents(s.dst)
    if over is None and shape is not None:
        over = blocked(shape, threads=threads)
    for region, turn in ((s.dst, False), (s.src, True)):
        if _is_tile(region.buffer, buffers):
            yield region.buffer, _turned(over) if turn and over is not None else over


def _extents(region: Region) -> tuple[int, ...] | None:
    sizes = [r.extent for r in region.ranges]
    known = tuple(int(e.value) for e in sizes if isinstance(e, Const))
    return known if len(known) == len(sizes) == 2 else None


def _turned(layout: FragmentLayout) -> FragmentLayout:
    """The same with its two axes exchanged."""
    return positional(layout, {layout.outputs[0]: "d1", layout.outputs[1]: "d0"})


def _of_loop(
    s: Parallel, layout: FragmentLayout | None, buffers: Mapping[str, Buffer]
) -> Iterator[tuple[str, FragmentLayout | None]]:
    for access in accesses(s):
        if not _is_tile(access.buffer, buffers):
            continue
        axes = loop_axes(access, s)
        if axes is None or layout is None or len(axes) != len(s.vars):
            yield access.buffer, None
        else:
            yield access.buffer, positional(layout, {f"d{v}": f"d{i}" for i, v in enumerate(axes)})
    single = {a.buffer for a in accesses(s)}
    others = (e.buffer for e in all_effects(s.body) if e.buffer not in single)
    yield from ((n, None) for n in others if _is_tile(n, buffers))


def _is_turned(layout: FragmentLayout) -> bool:
    """Whether neighbouring threads lie down a column."""
    first = next((d for d in layout.thread if d.extent > 1), None)
    return first is not None and first.axis == "d0"


def by_turns(
    buffer: Buffer,
    taken: tuple[FragmentLayout, ...],
    accepted: frozenset[str] | None,
    spec: TargetSpec,
) -> tuple[Candidate, ...]:
    """The layouts of a crossed tile with their cycles, the best first, plain rows before equals.

    `accepted`: the exchanges that copy engines know, None for any.
    """
    scope = spec.scopes.get("shared")
    shape = tuple(int(n.value) for n in buffer.shape if isinstance(n, Const))
    if scope is None or not scope.banks or len(shape) != 2 or not taken:
        return ()
    model = BankModel(banks=scope.banks, bank_bytes=scope.bank_bytes)
    bits = buffer.dtype.storage_bits
    plain = row_major(shape)
    options = [plain, *(replace(plain, swizzle=s) for s in _exchanges(shape, bits))]
    out = []
    for tile in options:
        if tile.swizzle is not None and accepted is not None and str(tile.swizzle) not in accepted:
            continue
        try:
            cost = sum(_cycles(tile, held, bits, spec, model) for held in taken)
        except TileError:  # no digits say it
            return ()
        out.append(Candidate(str(tile), cost, "cycles to cross it"))
    return tuple(sorted(out, key=lambda c: c.cost or 0.0))


def _exchanges(shape: tuple[int, ...], bits: int) -> Iterator[Swizzle]:
    """The exchanges of a row's pieces by as many neighbouring bits of the row's number."""
    row = shape[1] * bits // 8
    if shape[1] * bits % 8 or row & (row - 1) or row < 2 << _PIECE_BITS:
        return
    first = row.bit_length() - 1 - _PIECE_BITS
    last = (shape[0] * row).bit_length() - 1 - _PIECE_BITS
    width = min(_MOST_BITS, first)
    for shift in range(first, last - width + 1):
        yield Swizzle(width, _PIECE_BITS, shift)


def _cycles(
    tile: TileLayout, held: FragmentLayout, bits: int, spec: TargetSpec, model: BankModel
) -> float:
    found = access_cycles(
        tile, held, element_bits=bits, vector=1, warp_width=spec.warp_width, model=model
    )
    return float(found.cycles)
