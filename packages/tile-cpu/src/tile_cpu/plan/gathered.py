"""Blocks of a product's operand that a parallel loop gathers from memory, element by element.

Convolution reads its image so: the taps of a window are the trips of the loop around. Several such
blocks stand beside each other in one wider tile as those of plain copies do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Const, loads
from tile_ir.ops import Gemm, Parallel, Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.core import Buffer, Region

__all__ = ["Gathered", "gathered", "operands"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A loop that fills a whole tile; the next block follows along the axis `target` of the tile,
    `step` elements on.
    """

    loop: Parallel
    target: int
    step: int


def operands(g: Gemm) -> tuple[tuple[Region, int], tuple[Region, int]]:
    """Both operands of a product, each with the axis of its tile that is summed over."""
    return (g.a, 0 if g.transpose_a else 1), (g.b, 1 if g.transpose_b else 0)


def gathered(
    s: Parallel, products: Iterable[Gemm], buffers: dict[str, Buffer]
) -> tuple[str, Gathered] | None:
    """The tile that a loop fills from memory alone and a product sums over, and how; else None."""
    if len(s.body) != 1 or not isinstance(store := s.body[0], Store):
        return None
    tile = buffers[store.buffer]
    if tile.scope == "global" or store.indices != s.vars or s.extents != tile.shape:
        return None
    if s.layout is not None or any(buffers[x.buffer].scope != "global" for x in loads(store.value)):
        return None
    axes = {axis for g in products for r, axis in operands(g) if r.buffer == tile.name}
    if len(axes) != 1 or tile.rank != 2:
        return None
    target = axes.pop()
    extent = tile.shape[target]
    if not isinstance(extent, Const):
        return None
    return tile.name, Gathered(loop=s, target=target, step=int(extent.value))
