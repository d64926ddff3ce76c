"""Picks the class that a digit layout's names call for: each layout has one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from tile_ir.diag import TileError
from tile_ir.layout.base import FRAGMENT_INPUTS, GROUP, OFFSET, Axis, DigitLayout, DigitMap, Layout
from tile_ir.layout.digits import coalesce_digits
from tile_ir.layout.fragment import FragmentLayout
from tile_ir.layout.tile import TileLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.layout.swizzle import Swizzle

L = TypeVar("L", bound=Layout)


def make_layout(
    inputs: Sequence[Axis], outputs: Sequence[str], swizzle: Swizzle | None = None
) -> DigitLayout:
    """Return the layout in the class that its names call for.

    A `TileLayout` when the only output is `offset`, a `FragmentLayout` when the inputs are (group,)
    thread and value, else a `DigitMap`. Raises E0304 for names that do not fit and for a swizzle
    without an offset.
    """
    if tuple(outputs) == (OFFSET,):
        return TileLayout(inputs=tuple(inputs), swizzle=swizzle)
    if swizzle is not None:
        raise TileError(
            "E0304",
            "a swizzle exchanges offsets, and this layout gives coordinates",
            help="leave the swizzle out, or give it to the layout of the buffer",
        )
    names = tuple(a.name for a in inputs)
    if names not in FRAGMENT_INPUTS:
        return DigitMap(inputs=tuple(inputs), outputs=tuple(outputs))
    digits = {a.name: a.digits for a in inputs}
    return FragmentLayout(
        thread=digits["thread"],
        value=digits["value"],
        group=digits.get(GROUP, ()),
        outputs=tuple(outputs),
    )


def coalesce(layout: L) -> L:
    """Return the shortest layout of the same meaning; equal functions have equal results."""
    if not isinstance(layout, DigitLayout):
        return layout
    axes = [Axis(a.name, coalesce_digits(a.digits)) for a in layout.inputs]
    return cast("L", make_layout(axes, layout.output_names, layout.swizzle))
