"""Changes of a tile's axes: reduce, broadcast, share among groups, cut, reorder, rename."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from tile_ir.diag import TileError
from tile_ir.layout.base import Axis, DigitLayout, Layout
from tile_ir.layout.digits import Digit, Digits, coalesce_digits, cut_digits
from tile_ir.layout.fragment import FragmentLayout
from tile_ir.layout.kinds import make_layout
from tile_ir.layout.table import MapLayout
from tile_ir.layout.table_axes import (
    broadcast_table,
    project_table,
    split_table,
    transpose_table,
)
from tile_ir.layout.tile import TileLayout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

L = TypeVar("L", bound=Layout)


def project(layout: L, axis: str, *, keep: bool = False) -> L:
    """Return the layout of the tile reduced over `axis`.

    Threads along the axis hold copies of the result, a thread's values along it become one;
    replicated values are dropped with them. `keep` leaves the axis with extent 1. Raises E0304 when
    there is no such axis.
    """
    _check_axis(layout, axis)
    if isinstance(layout, MapLayout):
        return cast("L", project_table(layout, axis, keep=keep))
    return cast("L", _project_digits(_fragment(layout), axis, keep))


def _project_digits(layout: FragmentLayout, axis: str, keep: bool) -> FragmentLayout:
    outputs = layout.outputs if keep else tuple(a for a in layout.outputs if a != axis)
    moved = [_without(digits, axis) for digits in (layout.thread, layout.group)]
    return FragmentLayout(
        thread=moved[0],
        group=moved[1],
        value=tuple(d for d in layout.value if d.axis not in (axis, None)),
        outputs=outputs,
    )


def _without(digits: Digits, axis: str) -> Digits:
    replaced = (Digit(d.extent) if d.axis == axis else d for d in digits)
    return tuple(replaced)


def broadcast(layout: L, axis: str, extent: int, index: int | None = None) -> L:
    """Return a layout of the tile repeated `extent` times along `axis`, in which no data moves.

    Threads that hold copies take different positions as far as their number divides `extent`; the
    rest become values. Projecting the result along `axis` gives `layout` back. The axis is inserted
    at `index` (default: last), or is one of extent 1 that the layout has already. Raises E0304 when
    the axis is there and longer, E0302 for extent < 1.
    """
    outputs = list(layout.output_names)
    if axis not in outputs:
        outputs.insert(len(outputs) if index is None else index, axis)
    elif layout.output_shape[outputs.index(axis)] != 1:
        raise TileError(
            "E0304",
            f"`{layout}` has an axis `{axis}` already",
            help=f"take another name, or first project(layout, {axis!r}, keep=True)",
        )
    if isinstance(layout, MapLayout):
        return cast("L", broadcast_table(layout, axis, extent, outputs))
    held = _fragment(layout)
    thread, left = _occupy(held.thread, axis, 1, extent)
    wide = FragmentLayout(
        thread=thread,
        group=held.group,
        value=coalesce_digits((*held.value, Digit(left, axis, extent // left))),
        outputs=tuple(outputs),
    )
    return cast("L", wide)


def _occupy(digits: Digits, axis: str, stride: int, left: int) -> tuple[Digits, int]:
    """Send replicated digits along `axis`; return them and what is left of the extent."""
    out: list[Digit] = []
    for d in digits:
        share = math.gcd(d.extent, left) if d.is_replica else 1
        if share == 1:
            out.append(d)
            continue
        out += [Digit(share, axis, stride), Digit(d.extent // share)]
        stride, left = stride * share, left // share
    return coalesce_digits(out), left


def split(layout: L, axis: str, groups: int) -> L:
    """Return the layout of `groups` such tiles side by side along `axis`, one per group of threads.

    Raises E0304 when there is no such axis.
    """
    _check_axis(layout, axis)
    if isinstance(layout, MapLayout):
        return cast("L", split_table(layout, axis, groups))
    part = _fragment(layout)
    extent = part.output_shape[part.outputs.index(axis)]
    whole = FragmentLayout(
        thread=part.thread,
        value=part.value,
        group=coalesce_digits((*part.group, Digit(groups, axis, extent))),
        outputs=part.outputs,
    )
    return cast("L", whole)


def restrict(layout: Layout, axis: str, extent: int) -> TileLayout:
    """Return the layout of the first `extent` positions of `axis`; later parts have it, further on.

    Raises E0312 when the cut falls inside a digit that it does not divide, and for a table.
    """
    if not isinstance(layout, TileLayout):
        raise TileError(
            "E0312",
            f"`{layout}` is not made of digits into an offset",
            help="restrict the layout of a buffer, and write it with digits",
        )
    cut = cut_digits(layout.axis(axis).digits, extent)
    if cut is None:
        digits = ", ".join(str(d.extent) for d in layout.axis(axis).digits)
        raise TileError(
            "E0312",
            f"`{layout}` cannot be cut after {extent} positions along `{axis}`",
            notes=(f"the digits of `{axis}` have the extents {digits}, fastest first",),
            help="cut after a product of the fastest extents, the last of them whole or divided",
        )
    inputs = tuple(Axis(a.name, cut[0]) if a.name == axis else a for a in layout.inputs)
    return TileLayout(inputs=inputs, swizzle=layout.swizzle)


def transpose(layout: L, order: Sequence[str]) -> L:
    """Return the layout with the tile's dimensions in the given order.

    Raises E0304 unless `order` permutes `axes`.
    """
    if sorted(order) != sorted(layout.axes):
        raise TileError(
            "E0304",
            f"({', '.join(order)}) is no order of the axes of `{layout}`",
            help=f"name each of ({', '.join(layout.axes)}) once",
        )
    if isinstance(layout, MapLayout):
        return cast("L", transpose_table(layout, order))
    assert isinstance(layout, DigitLayout)
    if layout.is_fragment:
        return cast("L", make_layout(layout.inputs, order))
    by_name = {a.name: a for a in layout.inputs}
    return cast("L", make_layout([by_name[n] for n in order], layout.output_names, layout.swizzle))


def rename(layout: L, names: Mapping[str, str]) -> L:
    """Return the layout with axes renamed, inputs and outputs alike; names not given stay."""
    outputs = tuple(names.get(n, n) for n in layout.output_names)
    if isinstance(layout, MapLayout):
        inputs = tuple(names.get(n, n) for n in layout.input_names)
        return cast("L", replace(layout, input_names=inputs, output_names=outputs))
    assert isinstance(layout, DigitLayout)
    axes = [
        Axis(names.get(a.name, a.name), tuple(_renamed(d, names) for d in a.digits))
        for a in layout.inputs
    ]
    return cast("L", make_layout(axes, outputs, layout.swizzle))


def _renamed(d: Digit, names: Mapping[str, str]) -> Digit:
    return d if d.axis is None else Digit(d.extent, names.get(d.axis, d.axis), d.stride)


def _fragment(layout: Layout) -> FragmentLayout:
    if not isinstance(layout, FragmentLayout):
        raise TileError(
            "E0304",
            f"`{layout}` does not place a tile in registers",
            help="pass the layout of a fragment, `thread (...) value (...)`, as `blocked` makes it",
        )
    return layout


def _check_axis(layout: Layout, axis: str) -> None:
    if not layout.is_fragment or axis not in layout.output_names:
        axes = ", ".join(layout.output_names) or "none"
        raise TileError(
            "E0304",
            f"`{layout}` has no axis `{axis}`",
            help=f"its axes are {axes}" if layout.is_fragment else "pass a fragment's layout",
        )
