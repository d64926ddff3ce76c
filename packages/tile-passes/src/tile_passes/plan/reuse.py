"""How many bytes the blocks that run at once bring from memory, by the order in which they take
tiles.

Blocks that run together share what they bring through the cache. A copy whose source moves along
only some axes of the tile loop is brought once for all tiles that agree on those axes, so a wave
that is a compact box of tiles brings less than a long row of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Const, Var, free_vars
from tile_ir.ops import Let
from tile_ir.rewrite import walk
from tile_passes.plan.cost import copy_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.expr import Expr
    from tile_ir.opdef import Body
    from tile_ir.ops import Tiles
    from tile_passes.plan.survey import Fill, Survey

PANELS = (2, 4, 8, 16, 32)
NONE, ROW, COLUMN = "none", "row", "column"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one kind of tile brings: bytes, and whether its place depends on the first and on the
    second axis of the tile loop."""

    bytes: int
    along: tuple[bool, bool]


def traffic(found: Survey, tiles: Tiles) -> tuple[Traffic, ...]:
    """The copies of pipelined loops: they bring far more than others."""
    return tuple(t for _, t in traffic_of(found, tiles))


def traffic_of(found: Survey, tiles: Tiles) -> tuple[tuple[Fill, Traffic], ...]:
    """What each copy of a pipelined loop brings."""
    out = []
    for fill in found.fills:
        if fill.loop is None:
            continue
        used = reached(tiles, [r.start for r in fill.stmt.src.ranges])
        first, second = (*(v in used for v in tiles.vars[:2]), False)[:2]
        out.append((fill, Traffic(copy_bytes(fill.buffer), (first, second))))
    return tuple(out)


def reached(tiles: Tiles, exprs: Iterable[Expr]) -> set[Var]:
    """The variables that expressions in a tile depend on, also by way of what is bound there."""
    return _closure({v for e in exprs for v in free_vars(e)}, dict(_lets(tiles.body)))


def _lets(body: Body) -> Iterable[tuple[Var, Expr]]:
    return ((s.var, s.value) for s in walk(body) if isinstance(s, Let))


def _closure(used: set[Var], lets: dict[Var, Expr]) -> set[Var]:
    """The variables behind a set of them."""
    seen: set[Var] = set()
    while used:
        var = used.pop()
        if var not in seen:
            seen.add(var)
            used |= free_vars(lets[var]) if var in lets else set()
    return seen


def wave_bytes(
    brought: Iterable[Traffic], tiles: Tiles, raster: str, panel: int, wave: int
) -> float:
    """Bytes of one loop iteration of `wave` tiles that follow each other in an order."""
    first, second = (_most(e) for e in tiles.extents[:2])
    if raster == COLUMN:
        down, across = _box(second, first, panel, wave)
    else:
        across, down = _box(first, second, panel if raster == ROW else 1, wave)
    return sum(
        t.bytes * (across if t.along[0] else 1) * (down if t.along[1] else 1) for t in brought
    )


def _box(width: int, height: int, panel: int, wave: int) -> tuple[float, float]:
    """Columns and rows of the tiles of a wave, when they fill panels of `panel` rows column by
    column."""
    rows = min(panel, height)
    columns = min(wave / rows, width)
    return columns, min(max(rows, wave / columns), height)


def _most(extent: Expr) -> int:
    return int(extent.value) if isinstance(extent, Const) else 1 << 30
