"""User index functions become layouts.

They are evaluated once into a table, in which digits and an XOR that say the same are looked for.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout.algebra import all_points
from tile_ir.layout.base import OFFSET, THREAD, VALUE, Axis, DigitLayout, Layout
from tile_ir.layout.digits import Digit, Digits
from tile_ir.layout.kinds import make_layout
from tile_ir.layout.make import default_axes
from tile_ir.layout.swizzle import Swizzle
from tile_ir.layout.table import (
    HOLE,
    MapLayout,
    check_table_size,
    digit_column,
    ravel,
    row_major_strides,
    unravel,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MOST_BITS, _MOST_BASE, _MOST_SHIFT = 5, 7, 10


def from_function(
    shape: Sequence[int],
    fn: Callable[..., object],
    axes: Sequence[str] | None = None,
    *,
    element_bits: int = 8,
) -> Layout:
    """Return the layout of a tile whose element at `coord` lies at `fn(*coord)`.

    `fn` gets Python integers and returns an offset, or a tuple of indices into a box that is laid
    out row-major. Raises E0314 when it returns anything else or a negative index, E0315 when two
    elements share a place, E0309 when the tile has more than 65536 elements and no table can be
    built.
    """
    names = default_axes(len(shape)) if axes is None else tuple(axes)
    check_table_size(math.prod(shape))
    results = [_indices(fn, point) for point in all_points(shape)]
    box = _box(results)
    entries = [ravel(r, box) for r in results]
    _check_distinct(entries, shape)
    table = MapLayout(
        input_names=names,
        input_shape=tuple(shape),
        output_names=(OFFSET,),
        output_shape=(math.prod(box),),
        table=tuple(entries),
    )
    return recognise(table, element_bits=element_bits)


def fragment_from_function(
    shape: Sequence[int],
    fn: Callable[..., object],
    axes: Sequence[str] | None = None,
    *,
    replicate: int = 1,
) -> Layout:
    """Return the layout of a fragment that holds `coord` at `fn(*coord) == (thread, value)`.

    With `replicate` above 1, `fn` gets the number of the copy as one more argument. Raises as
    `from_function` does.
    """
    names = default_axes(len(shape)) if axes is None else tuple(axes)
    domain = (*shape, replicate) if replicate > 1 else tuple(shape)
    check_table_size(math.prod(domain))
    results = [_indices(fn, point) for point in all_points(domain)]
    if any(len(r) != 2 for r in results):
        raise _bad_result("must return a thread and a value index")
    box = _box(results)
    check_table_size(math.prod(box))
    entries = [ravel(r, box) for r in results]
    _check_distinct(entries, domain)
    held = [HOLE] * math.prod(box)
    for i, entry in enumerate(entries):
        held[entry] = i // replicate
    table = MapLayout(
        input_names=(THREAD, VALUE),
        input_shape=box,
        output_names=names,
        output_shape=tuple(shape),
        table=tuple(held),
    )
    return recognise(table)


def recognise(table: MapLayout, *, element_bits: int = 8) -> Layout:
    """Return the digits (and swizzle) that the table spells out, or else the table.

    `element_bits` is the width of an element, in which a swizzle of bytes is looked for. The result
    is coalesced.
    """
    if HOLE in table.table or not table.table or table.table[0]:
        return table
    found = _digits_of(table)
    if found is not None:
        return found
    if table.output_names == (OFFSET,) and table.swizzle is None:
        for swizzle in _candidates(element_bits, table.output_shape[0]):
            found = _digits_of(table, swizzle, element_bits)
            if found is not None:
                return found
    return table


def _digits_of(
    table: MapLayout, swizzle: Swizzle | None = None, element_bits: int = 8
) -> DigitLayout | None:
    """Read the digits off each axis alone, then compare the whole table."""
    strides = row_major_strides(table.input_shape)
    axes = []
    for name, extent, stride in zip(table.input_names, table.input_shape, strides, strict=True):
        along = [table.table[i * stride] for i in range(extent)]
        if swizzle is not None:
            along = [swizzle.apply_elements(x, element_bits) for x in along]
        digits = _read_digits([unravel(x, table.output_shape) for x in along], table.output_names)
        if digits is None:
            return None
        axes.append(Axis(name, digits))
    exchange = swizzle or table.swizzle
    layout = make_layout(axes, table.output_names, exchange)
    same = all(
        a == b
        for a, b in zip(_values(layout, table, swizzle, element_bits), table.table, strict=True)
    )
    return layout if same else None


def _values(
    layout: DigitLayout, table: MapLayout, swizzle: Swizzle | None, element_bits: int
) -> Iterator[int]:
    """Yield the layout's entries in the order and numbering of `table`."""
    weights = dict(zip(table.output_names, row_major_strides(table.output_shape), strict=True))
    columns = [digit_column(a.digits, weights) for a in layout.inputs]
    linear = (sum(parts) for parts in itertools.product(*columns))
    if swizzle is None:
        return linear
    return (swizzle.apply_elements(x, element_bits) for x in linear)


def _read_digits(moves: Sequence[tuple[int, ...]], names: Sequence[str]) -> Digits | None:
    """Return the digits of a function of one number, given its values; None when it has none.

    The first digit is as long as the function is linear; what follows is the same question on every
    that-many-th value.
    """
    digits: list[Digit] = []
    while len(moves) > 1:
        unit = moves[1]
        moving = [i for i, u in enumerate(unit) if u]
        if len(moving) > 1 or any(u < 0 for u in unit):
            return None
        run = 2
        while run < len(moves) and moves[run] == tuple(u * run for u in unit):
            run += 1
        if len(moves) % run:
            return None
        axis = names[moving[0]] if moving else None
        digits.append(Digit(run, axis, unit[moving[0]] if moving else 0))
        moves = moves[::run]
    return tuple(digits)


def _candidates(element_bits: int, cosize: int) -> Iterator[Swizzle]:
    """Yield the swizzles that can matter for so many elements, weakest first."""
    size = cosize * element_bits // 8
    for bits in range(1, _MOST_BITS + 1):
        for base in range(_MOST_BASE + 1):
            for shift in range(bits, _MOST_SHIFT + 1):
                whole = (8 << base) % element_bits == 0
                if whole and 1 << (base + shift) < size:
                    yield Swizzle(bits, base, shift)


def _indices(fn: Callable[..., object], point: Sequence[int]) -> tuple[int, ...]:
    result = fn(*point)
    indices = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    if not all(hasattr(i, "__index__") for i in indices):
        raise _bad_result(f"returned {result!r} for {tuple(point)}")
    found = tuple(int(i) for i in indices)
    if not found or min(found) < 0:
        raise _bad_result(f"returned {result!r} for {tuple(point)}")
    return found


def _box(results: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    if len({len(r) for r in results}) != 1:
        raise _bad_result("returned tuples of different lengths")
    return tuple(max(column) + 1 for column in zip(*results, strict=True))


def _bad_result(what: str) -> TileError:
    return TileError(
        "E0314",
        f"a layout's index function {what}",
        notes=("it is called with every coordinate and gives a place as non-negative integers",),
        help="return an integer, or a tuple of integers of one length",
    )


def _check_distinct(entries: Sequence[int], shape: Sequence[int]) -> None:
    first: dict[int, int] = {}
    for i, entry in enumerate(entries):
        if entry in first:
            a, b = unravel(first[entry], shape), unravel(i, shape)
            raise TileError(
                "E0315",
                f"a layout puts {a} and {b} in one place",
                help="give every element a place of its own; gaps between them are allowed",
            )
        first[entry] = i
