"""Which block of memory a product's A takes next: its lines are asked for while the present one is
multiplied.

Packing a block waits for memory, multiplying it does not touch memory, so a worker that does them
in turn uses each half of the time. The kernel therefore names the lines of the next block as it
goes along the present one. Only rows that are packed straight from memory have such a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Expr, Var, free_vars
from tile_ir.expr import rewrite as rewrite_expr
from tile_ir.opdef import Body, bodies
from tile_ir.ops import Atom, Copy, For, Tiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_cpu.packing import Packing
    from tile_ir.core import Buffer

__all__ = ["UNIT_BYTES", "Ahead", "blocks_ahead"]

UNIT_BYTES = 4
"""Bytes in memory of a unit of A, where there is a block ahead: units are packed as they lie there.
"""
Place = tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The first element of the block that follows: `next` where the loop over blocks has another
    trip (`more`), else `restart`, the first block of the loop around it, if there is one."""

    copy: Copy
    more: Expr
    next: Place
    restart: Place | None


def blocks_ahead(
    body: Body, packed: Mapping[str, Packing], buffers: Mapping[str, Buffer]
) -> dict[int, Ahead]:
    """Identity of an atom -> the block that its A takes next."""
    found: dict[int, Ahead] = {}
    rows = {
        name
        for name, packing in packed.items()
        if packing.form == "rows"
        and packing.group * buffers[name].dtype.storage_bits == 8 * UNIT_BYTES
    }

    def visit(inside: Body, loops: tuple[For, ...]) -> None:
        copies: dict[str, Copy] = {}
        for s in inside:
            if isinstance(s, Copy) and s.dst.buffer in rows:
                copies[s.dst.buffer] = s
            elif isinstance(s, Atom) and s.a.buffer in copies:
                made = _ahead(copies[s.a.buffer], loops, buffers)
                if made is not None:
                    found[id(s)] = made
            around = (*loops, s) if isinstance(s, For) else () if isinstance(s, Tiles) else loops
            for inner in bodies(s):
                visit(inner, around)

    visit(body, ())
    return found


def _ahead(copy: Copy, loops: tuple[For, ...], buffers: Mapping[str, Buffer]) -> Ahead | None:
    src, dst = buffers[copy.src.buffer], buffers[copy.dst.buffer]
    if src.scope != "global" or src.dtype.storage_bits != dst.dtype.storage_bits:
        return None
    starts = tuple(r.start for r in copy.src.ranges)
    moving = [s for s in reversed(loops) if any(s.var in free_vars(e) for e in starts)]
    if not moving:
        return None
    inner, *outer = moving
    following = b.add(inner.var, inner.step)
    restart = None
    if outer:
        first = _put(starts, inner.var, inner.start)
        restart = _put(first, outer[0].var, b.add(outer[0].var, outer[0].step))
    return Ahead(
        copy=copy,
        more=b.lt(following, inner.stop),
        next=_put(starts, inner.var, following),
        restart=restart,
    )


def _put(place: Place, var: Var, value: Expr) -> Place:
    memo: dict[Expr, Expr] = {}
    return tuple(rewrite_expr(e, lambda n: value if n is var else None, memo) for e in place)
