"""How evenly blocks are loaded when tiles take unequally long, by how they are dealt.

The hardware gives the next tile to the block that is done first. Blocks that take every n-th tile
by themselves save the start of a block for each tile but one, and share the work evenly only if
heavy tiles come first and every other round is dealt backwards. Both are counted out here, in
iterations of a tile's loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const
from tile_ir.rewrite import substitute
from tile_passes.analysis.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.expr import Var
    from tile_ir.ops import For, Tiles

START = 1.5
"""Iterations' worth of a tile that no other work of its block hides: the first product and what
follows the last one."""

BLOCK_START = 3.0
"""The same where each tile has a block of its own, and nothing is fetched
ahead."""

DRAW = 0.1
"""The same for telling the others which tile was drawn: a barrier's latency for each role."""

PACE = 1.01
"""How much later the slowest of blocks with equal work is done than their mean: they share memory
and its caches unevenly. Who draws tiles makes up for it."""

MOST_TILES = 1 << 14
"""More tiles are not counted out: then any order is even enough."""


_NOTHING = Facts.of_dims(())


@dataclass(frozen=True, slots=True)
class Work:
    """Tiles along one axis take unequally long: `trips[i]` iterations at place i of it, the same
    for the `others` tiles of all other axes."""

    trips: tuple[int, ...]
    others: int

    @property
    def tiles(self) -> int:
        """How many there are."""
        return len(self.trips) * self.others


def work_of(tiles: Tiles, var: Var, loops: Sequence[For]) -> Work | None:
    """The iterations of each tile, None where they are not known."""
    extents = [int(e.value) if isinstance(e, Const) else 0 for e in tiles.extents]
    along = extents[tiles.vars.index(var)]
    if not 0 < prod(extents) <= MOST_TILES:
        return None
    found = [sum(_trips(loop, var, i) for loop in loops) for i in range(along)]
    return Work(tuple(found), prod(extents) // along) if min(found) >= 0 else None


def _trips(loop: For, var: Var, value: int) -> int:
    """The iterations of a loop in a tile, a very negative number where they are not known."""
    at = substitute({var: b.const(value, var.dtype)})
    start, stop, step = (_NOTHING.range(at(e)) for e in (loop.start, loop.stop, loop.step))
    known = [low for low, high in (start, stop, step) if low is not None and low == high]
    if len(known) < len((start, stop, step)):
        return -(1 << 30)
    return max(0, -((known[0] - known[1]) // known[2]))


def in_order(work: Work, *, slowest: bool) -> list[int]:
    """The tiles' iterations, heaviest first along the axis; that moves slowest, or fastest."""
    trips = sorted(work.trips, reverse=True)
    if slowest:
        return [n for n in trips for _ in range(work.others)]
    return trips * work.others


def first_come(order: Sequence[int], blocks: int, start: float = BLOCK_START) -> float:
    """The time of the block that is done last, when who is done takes the next tile."""
    loads = [0.0] * min(blocks, len(order))
    heapify(loads)
    for trips in order:
        heapreplace(loads, loads[0] + trips + start)
    return max(loads)


def dealt(order: Sequence[int], blocks: int, *, turning: bool, start: float = START) -> float:
    """The time of the block with most work, at the slowest pace, when tiles are dealt in rounds."""
    loads: Counter[int] = Counter()
    for number in range(len(order)):
        loads[number % blocks] += order[turned(number, len(order), blocks) if turning else number]
    rounds = Counter(number % blocks for number in range(len(order)))
    return PACE * max(loads[k] + rounds[k] * start for k in rounds)


def turned(number: int, tiles: int, blocks: int) -> int:
    """The tile that is dealt as the `number`-th, when every other full round goes backwards: the
    last one does, so that those who get one tile more had the lightest before."""
    turn, last = number // blocks, tiles // blocks
    if turn < last and (last - 1 - turn) % 2 == 0:
        return (2 * turn + 1) * blocks - 1 - number
    return number
