"""The changes of axes for tables; `axes` holds the public functions and the checks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tile_ir.layout.base import GROUP
from tile_ir.layout.table import HOLE, MapLayout, ravel, unravel

if TYPE_CHECKING:
    from collections.abc import Sequence


def transpose_table(layout: MapLayout, order: Sequence[str]) -> MapLayout:
    """Return the table with the tile's dimensions in the given order."""
    places = [layout.axes.index(name) for name in order]
    shape = tuple(layout.shape[i] for i in places)
    if layout.is_fragment:
        points = (_point(layout, entry) for entry in layout.table)
        table = tuple(_entry(p and [p[i] for i in places], shape) for p in points)
        return replace(layout, output_names=tuple(order), output_shape=shape, table=table)
    back = [list(order).index(name) for name in layout.axes]
    moved = (unravel(i, shape) for i in range(layout.size))
    table = tuple(layout.table[ravel([p[i] for i in back], layout.shape)] for p in moved)
    return replace(layout, input_names=tuple(order), input_shape=shape, table=table)


def project_table(layout: MapLayout, axis: str, *, keep: bool) -> MapLayout:
    """Return the table of the tile reduced over `axis`; a thread's values become distinct."""
    at = layout.output_names.index(axis)
    left = (1,) if keep else ()
    names = (*layout.output_names[:at], *((axis,) if keep else ()), *layout.output_names[at + 1 :])
    shape = (*layout.output_shape[:at], *left, *layout.output_shape[at + 1 :])
    values = layout.input_shape[-1]
    rows = []
    for start in range(0, layout.size, values):
        points = (_point(layout, entry) for entry in layout.table[start : start + values])
        kept = [[*p[:at], *((0,) if keep else ()), *p[at + 1 :]] for p in points if p]
        rows.append(list(dict.fromkeys(ravel(p, shape) for p in kept)))
    length = max(1, *map(len, rows)) if rows else 1
    return replace(
        layout,
        input_shape=(*layout.input_shape[:-1], length),
        output_names=names,
        output_shape=shape,
        table=tuple(e for row in rows for e in (*row, *[HOLE] * (length - len(row)))),
    )


def broadcast_table(layout: MapLayout, axis: str, extent: int, outputs: Sequence[str]) -> MapLayout:
    """Return the table of the tile repeated along `axis`; the copies are further values."""
    at = list(outputs).index(axis)
    inner = 1 if axis in layout.output_names else 0
    shape = (*layout.output_shape[:at], extent, *layout.output_shape[at + inner :])
    values = layout.input_shape[-1]
    table: list[int] = []
    for start in range(0, layout.size, values):
        row = [_point(layout, entry) for entry in layout.table[start : start + values]]
        for i in range(extent):
            table += [_entry(p and [*p[:at], i, *p[at + inner :]], shape) for p in row]
    return replace(
        layout,
        input_shape=(*layout.input_shape[:-1], values * extent),
        output_names=tuple(outputs),
        output_shape=shape,
        table=tuple(table),
    )


def split_table(layout: MapLayout, axis: str, groups: int) -> MapLayout:
    """Return the table of `groups` such tiles side by side along `axis`, one per group."""
    at = layout.output_names.index(axis)
    step = layout.output_shape[at]
    shape = (*layout.output_shape[:at], step * groups, *layout.output_shape[at + 1 :])
    points = [_point(layout, entry) for entry in layout.table]
    table = tuple(
        _entry(p and [*p[:at], p[at] + step * g, *p[at + 1 :]], shape)
        for g in range(groups)
        for p in points
    )
    lanes = layout.input_shape[-2:]
    return replace(
        layout,
        input_names=(GROUP, *layout.input_names[-2:]),
        input_shape=(groups * math.prod(layout.input_shape[:-2]), *lanes),
        output_shape=shape,
        table=table,
    )


def _point(layout: MapLayout, entry: int) -> tuple[int, ...] | None:
    return None if entry == HOLE else unravel(entry, layout.output_shape)


def _entry(point: Sequence[int] | None, shape: Sequence[int]) -> int:
    return HOLE if point is None else ravel(point, shape)
