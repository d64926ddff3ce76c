"""Composition, inverse and complement of layouts.

Each works on digits where radices divide and on tables where they do not, so the result is always
right and its class tells what it cost. Composition and complement follow the layout algebra of C.
Cecka's CuTe (shape:stride functions), with strides that name the axis they move along.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout.base import Axis, DigitLayout, Layout
from tile_ir.layout.digits import Digit, Digits, coalesce_digits, refine_digits
from tile_ir.layout.kinds import make_layout
from tile_ir.layout.table import HOLE, MapLayout, check_table_size, ravel, tabulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def refine(a: DigitLayout, b: DigitLayout) -> tuple[DigitLayout, DigitLayout] | None:
    """Return both layouts with equal digit extents on every input axis; None where none divide.

    The input axes must agree in name and order, else None.
    """
    if a.input_names != b.input_names:
        return None
    axes_a, axes_b = [], []
    for x, y in zip(a.inputs, b.inputs, strict=True):
        pair = refine_digits(x.digits, y.digits)
        if pair is None:
            return None
        axes_a.append(Axis(x.name, pair[0]))
        axes_b.append(Axis(y.name, pair[1]))
    return (
        make_layout(axes_a, a.output_names, a.swizzle),
        make_layout(axes_b, b.output_names, b.swizzle),
    )


def same_function(a: Layout, b: Layout) -> bool:
    """Whether two layouts agree everywhere: names, order of outputs and swizzle too.

    Raises E0309 for a table compared with digits that are too large to become one.
    """
    if not (isinstance(a, DigitLayout) and isinstance(b, DigitLayout)):
        return tabulate(a) == tabulate(b)
    heads = (a.input_names, a.output_names, a.swizzle) == (b.input_names, b.output_names, b.swizzle)
    return heads and all(
        x.extent == y.extent and coalesce_digits(x.digits) == coalesce_digits(y.digits)
        for x, y in zip(a.inputs, b.inputs, strict=True)
    )


def compose(outer: Layout, inner: Layout) -> Layout:
    """Return the layout c -> outer(inner(c)); `outer`'s input axes are `inner`'s outputs by name.

    A tile's layout after a fragment's says where each register's element lies in memory. The result
    keeps `outer`'s swizzle. It is a `MapLayout` where digits would have to carry into each other
    (E0309 if that is too large). Raises E0307 when the axes do not match or `inner` is swizzled.
    """
    if set(outer.input_names) != set(inner.output_names) or inner.swizzle is not None:
        raise TileError(
            "E0307",
            f"`{outer}` cannot follow `{inner}`",
            notes=("the axes that the inner layout gives must be those that the outer one takes",),
            help="rename axes, or leave the inner layout's swizzle to the outer one",
        )
    if isinstance(outer, DigitLayout) and isinstance(inner, DigitLayout):
        found = compose_digits(outer, inner)
        if found is not None:
            return found
    return _compose_table(outer, inner)


def compose_digits(outer: DigitLayout, inner: DigitLayout) -> DigitLayout | None:
    """Return the composition in digits, or None where a digit would carry; axes match by name."""
    radices = {a.name: coalesce_digits(a.digits) for a in outer.inputs}
    load: dict[tuple[str, int], int] = {}
    axes = []
    for axis in inner.inputs:
        digits: list[Digit] = []
        for d in axis.digits:
            pieces = _send(d, radices, load)
            if pieces is None:
                return None
            digits += pieces
        axes.append(Axis(axis.name, tuple(digits)))
    # Moves that meet in one outer digit add up there; beyond its extent they would carry.
    for (name, index), reach in load.items():
        radix = radices[name]
        if index < len(radix) - 1 and reach >= radix[index].extent:
            return None
    return make_layout(axes, outer.output_names, outer.swizzle)


def _send(
    d: Digit, radices: dict[str, Digits], load: dict[tuple[str, int], int]
) -> list[Digit] | None:
    """Cut one inner digit at the outer radices; each piece moves as the digit it falls into."""
    if d.axis is None:
        return [d]
    radix = radices[d.axis]
    extent, stride, pieces = d.extent, d.stride, []
    for index, r in enumerate(radix):
        if stride % r.extent == 0 and index < len(radix) - 1:
            stride //= r.extent
            continue
        step = _fitting(extent, stride, r.extent if index < len(radix) - 1 else None)
        if step is None:
            return None
        load[d.axis, index] = load.get((d.axis, index), 0) + (step - 1) * stride
        pieces.append(Digit(step, r.axis, r.stride * stride))
        extent, stride = extent // step, 1
        if extent == 1:
            break
    return pieces if extent == 1 else [*pieces, Digit(extent)]


def _fitting(extent: int, stride: int, room: int | None) -> int | None:
    """Return how many steps of `stride` fit below `room` before a whole carry, or None."""
    if room is None or (extent - 1) * stride < room:
        return extent
    if room % stride or extent % (room // stride):
        return None
    return room // stride


def _compose_table(outer: Layout, inner: Layout) -> MapLayout:
    check_table_size(inner.size)
    order = [inner.output_names.index(name) for name in outer.input_names]
    points = []
    for point in all_points(inner.input_shape):
        middle = inner.evaluate(point)
        points.append(_evaluate_or_hole(outer, [middle[i] for i in order]))
    return map_of(inner, outer.output_names, points, outer)


def _evaluate_or_hole(layout: Layout, point: Sequence[int]) -> tuple[int, ...]:
    inside = all(0 <= x < n for x, n in zip(point, layout.input_shape, strict=True))
    if HOLE in point or (isinstance(layout, MapLayout) and not inside):
        return (HOLE,) * len(layout.output_names)
    return layout.evaluate(point)


def map_of(
    domain: Layout, names: Sequence[str], points: Sequence[tuple[int, ...]], end: Layout
) -> MapLayout:
    """Return the table of the results over `domain`'s input points; `end` gives the swizzle."""
    shape = tuple(max((p[i] for p in points), default=0) + 1 for i in range(len(names)))
    shape = tuple(max(1, n) for n in shape)
    return MapLayout(
        input_names=domain.input_names,
        input_shape=domain.input_shape,
        output_names=tuple(names),
        output_shape=shape,
        table=tuple(HOLE if HOLE in p else ravel(p, shape) for p in points),
        swizzle=end.swizzle,
    )


def all_points(shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Yield every point of a box, last axis fastest."""
    return itertools.product(*map(range, shape))


def inverse(layout: Layout) -> Layout:
    """Return the layout from results to points: `offset (64:m*1, 8:k*1)` of `m (64:1) k (8:64)`.

    Digits for a bijection onto its box; else a table with holes. Raises E0308 when two points share
    a result or the layout is swizzled, E0309 when the table would be too large.
    """
    if layout.swizzle is not None:
        raise TileError(
            "E0308",
            f"`{layout}` is swizzled and has no inverse in digits",
            help="invert the layout made without the swizzle, and apply the XOR to the offset",
        )
    if isinstance(layout, DigitLayout):
        found = inverse_digits(layout)
        if found is not None and layout.is_injective():
            return found
    return _inverse_table(layout)


def inverse_digits(layout: DigitLayout) -> DigitLayout | None:
    """Return the inverse in digits, or None where results have gaps or overlaps along an axis.

    Replicated digits are left out: of the copies, the one with digit 0 is given.
    """
    axes = []
    for name in layout.output_names:
        digits, filled = [], 1
        on_axis = [p for p in layout.placed() if p.digit.axis == name and p.digit.extent > 1]
        for p in sorted(on_axis, key=lambda p: p.digit.stride):
            if p.digit.stride != filled:
                return None
            digits.append(Digit(p.digit.extent, layout.input_names[p.input], p.place))
            filled *= p.digit.extent
        axes.append(Axis(name, tuple(digits)))
    return make_layout(axes, layout.input_names)


def _inverse_table(layout: Layout) -> MapLayout:
    table = tabulate(layout)
    if not table.is_injective():
        raise TileError(
            "E0308",
            f"`{layout}` has no inverse: two points share a result",
            help="drop replicated digits and choose strides so that no two points meet",
        )
    return MapLayout(
        input_names=layout.output_names,
        input_shape=layout.output_shape,
        output_names=layout.input_names,
        output_shape=layout.input_shape,
        table=_inverted(table.table, layout.output_shape),
    )


def _inverted(table: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    size = math.prod(shape)
    check_table_size(size)
    back = [HOLE] * size
    for i, entry in enumerate(table):
        if entry != HOLE:
            back[entry] = i
    return tuple(back)


def complement(layout: Layout, shape: Sequence[int]) -> DigitLayout:
    """Return the moves that carry the results over a whole box: `rest (2:m*64)` for half of 128.

    Results of `layout` plus results of the complement meet every point of `shape` (rounded up to
    whole copies) exactly once. Raises E0311 when the results overlap or their gaps are not whole
    copies.
    """
    if not isinstance(layout, DigitLayout):
        raise TileError(
            "E0311",
            f"`{layout}` is a table, which has no gaps to fill with digits",
            help="write the layout with digits, `name (extent:axis*stride, ...)`",
        )
    digits: list[Digit] = []
    for name, extent in zip(layout.output_names, shape, strict=True):
        filled = 1
        on_axis = [p.digit for p in layout.placed() if p.digit.axis == name and p.digit.extent > 1]
        for d in sorted(on_axis, key=lambda d: d.stride):
            if d.stride % filled:
                raise TileError(
                    "E0311",
                    f"the gaps of `{layout}` along `{name}` are not copies of it",
                    notes=(f"stride {d.stride} is no multiple of {filled}, what lies below it",),
                    help="make each stride a multiple of the next smaller one times its extent",
                )
            digits.append(Digit(d.stride // filled, name, filled))
            filled = d.stride * d.extent
        digits.append(Digit(-(-extent // filled), name, filled))
    return make_layout([Axis("rest", coalesce_digits(digits))], layout.output_names)


def identity_map(names: Sequence[str], shape: Sequence[int]) -> DigitLayout:
    """Return the layout that gives every point itself."""
    axes = [
        Axis(name, coalesce_digits([Digit(n, name, 1)]))
        for name, n in zip(names, shape, strict=True)
    ]
    return make_layout(axes, names)
