"""Which thread touches which element of memory, where it can be said in a word.

Two accesses with one owner give each element to one and the same thread, so they need no barrier
between them. Anything that cannot be compared has no owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Expr, Var, free_vars
from tile_ir.layout import FragmentLayout
from tile_passes.lower.threads.addresses import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BY_ENGINE", "Owner", "index_of", "owner"]


@dataclass(frozen=True, slots=True)
class Owner:
    """Element (starts + coordinates of the box along `axes`) belongs to the thread that `layout`
    gives the coordinates, which is one thread only."""

    layout: FragmentLayout
    axes: tuple[int | None, ...]
    starts: tuple[Expr, ...]


BY_ENGINE = Owner(FragmentLayout(thread=(), value=(), outputs=()), (), ())
"""Whatever a copy engine writes to global memory: no barrier of threads waits for it, so none is
needed between two of its copies."""


def owner(
    layout: FragmentLayout,
    extents: Sequence[int],
    places: Iterable[tuple[int | None, Expr]],
    fixed: frozenset[Var],
) -> Owner | None:
    """The owner of elements at `places`: for each axis of the buffer the axis of the box that moves
    along it, and where it starts.

    None unless the whole box moves along the buffer, from starts that are the same all the time a
    block works (`fixed` are the variables that are).
    """
    pairs = tuple(places)
    axes, starts = tuple(a for a, _ in pairs), tuple(s for _, s in pairs)
    long = {i for i, n in enumerate(extents) if n > 1}
    if not long <= set(axes) or not all(free_vars(s) <= fixed for s in starts):
        return None
    return Owner(layout, axes, starts)


def index_of(index: Expr, loop: Sequence[Var]) -> tuple[int | None, Expr] | None:
    """An index as (axis of the loop that it moves with, start), None where it has another form."""
    if isinstance(index, Var) and index in loop:
        return loop.index(index), ZERO
    if isinstance(index, Binary) and index.op == "add":
        for moving, start in ((index.a, index.b), (index.b, index.a)):
            if isinstance(moving, Var) and moving in loop and not free_vars(start) & set(loop):
                return loop.index(moving), start
    return None if free_vars(index) & set(loop) else (None, index)
