"""The order in which blocks take tiles, as arithmetic on the number of the tile.

Tiles are numbered along the first axis, then the second, and so on. In panels of `panel` rows (or
columns) they are numbered down each column of a panel (along each row), panel by panel; the last
panel may be lower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Var
from tile_ir.ops import Assume, Let
from tile_ir.rewrite import replace
from tile_ir.types import i32
from tile_passes.plan.reuse import NONE, ROW

if TYPE_CHECKING:
    from collections.abc import Collection

    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Tiles


def rastered(
    tiles: Tiles,
    raster: str,
    panel: int,
    descending: Collection[str],
    slowest: Collection[str] = (),
) -> Tiles:
    """The tile loop in the order asked for: over numbers, with the indices computed in each tile;
    an axis in `descending` is walked from its end, one in `slowest` moves after all others.
    """
    panelled = raster != NONE and panel > 1 and len(tiles.vars) > 1
    if slowest and not panelled:
        tiles = _reordered(tiles, slowest)
    turned = [v for v in tiles.vars if v.name in descending]
    if not panelled and not turned:
        return replace(tiles, raster=NONE, panel=0)
    lets: list[Stmt] = []
    variables, extents = list(tiles.vars), list(tiles.extents)
    places: dict[str, Expr] = {v.name: v for v in tiles.vars}
    if panelled:
        number = Var(_fresh("tile", tiles), i32)
        lets += _panels(tiles, number, raster, panel, places)
        variables = [number, *variables[2:]]
        extents = [b.mul(extents[0], extents[1]), *extents[2:]]
    for at, var in enumerate(variables):
        if var in turned:
            variables[at] = Var(_fresh(f"{var.name}_up", tiles), i32)
            places[var.name] = variables[at]
    for var, extent in zip(tiles.vars, tiles.extents, strict=True):
        place = places[var.name]
        if var in turned:
            place = b.sub(b.sub(extent, 1), place)
        if place is not var:
            lets.append(Let(var=var, value=place, span=tiles.span))
            if panelled and var in tiles.vars[:2]:  # beyond the prover, so it is told
                conditions = (b.ge(var, 0), b.lt(var, extent))
                lets += (Assume(cond=c, span=tiles.span) for c in conditions)
    return replace(
        tiles,
        vars=tuple(variables),
        extents=tuple(extents),
        raster=NONE,
        panel=0,
        body=(*lets, *tiles.body),
    )


def _reordered(tiles: Tiles, slowest: Collection[str]) -> Tiles:
    """The tile loop with some axes moved behind the others: the first one is the fastest."""
    axes = sorted(zip(tiles.vars, tiles.extents, strict=True), key=lambda a: a[0].name in slowest)
    variables, extents = zip(*axes, strict=True)
    return replace(tiles, vars=variables, extents=extents)


def _panels(tiles: Tiles, number: Var, raster: str, panel: int, places: dict[str, Expr]) -> Body:
    """What the two first indices are for a number; intermediate values are bound."""
    (x, y), (width, height) = tiles.vars[:2], tiles.extents[:2]
    if raster != ROW:
        x, y, width, height = y, x, height, width
    lets: list[Let] = []

    def bound(name: str, value: Expr) -> Expr:
        var = Var(_fresh(f"{number.name}_{name}", tiles), i32)
        lets.append(Let(var=var, value=value, span=tiles.span))
        return var

    whole = b.mul(width, panel)
    which = bound("panel", b.floordiv(number, whole))
    rest = bound("rest", b.sub(number, b.mul(which, whole)))
    first = b.mul(which, panel)
    rows = bound("rows", b.minimum(b.sub(height, first), panel))
    places[y.name] = b.add(first, b.floormod(rest, rows))
    places[x.name] = b.floordiv(rest, rows)
    return tuple(lets)


def _fresh(name: str, tiles: Tiles) -> str:
    taken = {v.name for v in tiles.vars}
    while name in taken:
        name += "_"
    return name
