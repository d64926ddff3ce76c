"""Layouts as tables, for what digits cannot say: slower, always right, limited in size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_ir.layout.base import DigitLayout, Layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tile_ir.layout.digits import Digits
    from tile_ir.layout.swizzle import Swizzle

MAX_TABLE = 65536
HOLE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLayout(Layout):
    """A table over all input points, last input axis fastest.

    An entry is the index of the output point in the box `output_shape`, last axis fastest, or
    `HOLE` (-1) where there is no element. Text: `map thread 4 value 2 -> n 10 [0+8]`. Raises E0309
    above 65536 entries, E0310 for a table whose length or entries do not fit the shapes.
    """

    input_names: tuple[str, ...]
    input_shape: tuple[int, ...]
    output_names: tuple[str, ...]
    output_shape: tuple[int, ...]
    table: tuple[int, ...]
    swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        check_table_size(self.size)
        top = math.prod(self.output_shape)
        ranks_fit = len(self.input_names) == len(self.input_shape) and len(
            self.output_names
        ) == len(self.output_shape)
        entries_fit = all(HOLE <= entry < top for entry in self.table)
        if len(self.table) != self.size or not ranks_fit or not entries_fit:
            raise TileError(
                "E0310",
                "a layout's table does not fit its shapes",
                notes=(f"{len(self.table)} entries for {self.size} points, each below {top}",),
                help="give one entry for each input point: an output point's number, or -1",
            )

    def evaluate(self, point: Sequence[Any]) -> tuple[Any, ...]:
        """Return the output coordinates, all -1 at a hole. Raises E0306 outside the table."""
        self.check_rank(point)
        if any(not 0 <= x < n for x, n in zip(point, self.input_shape, strict=True)):
            at, box = ", ".join(map(str, point)), ", ".join(map(str, self.input_shape))
            raise TileError(
                "E0306",
                f"point ({at}) lies outside a table of ({box})",
                help="ask for points inside only: a table, unlike digits, does not run on",
            )
        entry = self.table[ravel(point, self.input_shape)]
        if entry == HOLE:
            return (HOLE,) * len(self.output_names)
        return unravel(entry, self.output_shape)

    def preimages(self, point: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        inside = all(0 <= x < n for x, n in zip(point, self.output_shape, strict=True))
        wanted = ravel(point, self.output_shape) if inside else None
        found = (i for i, entry in enumerate(self.table) if entry == wanted)
        return tuple(unravel(i, self.input_shape) for i in found)

    def is_injective(self) -> bool:
        """Whether no two input points share a result (holes are no results)."""
        entries = [entry for entry in self.table if entry != HOLE]
        return len(set(entries)) == len(entries)

    def __str__(self) -> str:
        left = " ".join(_pairs(self.input_names, self.input_shape))
        right = " ".join(_pairs(self.output_names, self.output_shape))
        text = f"map {left} -> {right} [{', '.join(_runs(self.table))}]"
        return text if self.swizzle is None else f"{text} {self.swizzle}"


def check_table_size(entries: int) -> None:
    """Raise E0309 when a table would be too large to be built."""
    if entries > MAX_TABLE:
        raise TileError(
            "E0309",
            f"a layout of {entries} places cannot be held as a table",
            notes=(f"tables are limited to {MAX_TABLE} entries to keep compiling fast",),
            help="use extents and strides that divide each other, or a smaller tile",
        )


def tabulate(layout: Layout) -> MapLayout:
    """Return the layout as a table. Raises E0309 above 65536 points."""
    if isinstance(layout, MapLayout):
        return layout
    if isinstance(layout, DigitLayout):
        check_table_size(layout.size)
        return _filled(layout, layout.output_names, layout.output_shape, _digit_table(layout))
    raise TypeError(f"{type(layout).__name__} is no layout that can be tabulated")


def _filled(
    layout: Layout, names: Sequence[str], shape: Sequence[int], table: Iterable[int]
) -> MapLayout:
    return MapLayout(
        input_names=layout.input_names,
        input_shape=layout.input_shape,
        output_names=tuple(names),
        output_shape=tuple(shape),
        table=tuple(table),
        swizzle=layout.swizzle,
    )


def _digit_table(layout: DigitLayout) -> list[int]:
    """Sum the digits' steps in the output box's numbering: it is linear, so axes add up."""
    weights = dict(zip(layout.output_names, row_major_strides(layout.output_shape), strict=True))
    table = [0]
    for axis in layout.inputs:
        column = digit_column(axis.digits, weights)
        table = [t + c for t in table for c in column]
    return table


def digit_column(digits: Digits, weights: dict[str, int]) -> list[int]:
    """Return the weighted sum of the digits' moves for each number that the list reads."""
    column = [0]
    for d in digits:
        step = d.stride * weights[d.axis] if d.axis is not None else 0
        column = [value * step + c for value in range(d.extent) for c in column]
    return column


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the weight of each coordinate in the numbering of a box, last axis fastest."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def ravel(point: Sequence[int], shape: Sequence[int]) -> int:
    """Return the number of a point in a box, last axis fastest."""
    index = 0
    for x, n in zip(point, shape, strict=True):
        index = index * n + x
    return index


def unravel(index: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the point with that number in a box, last axis fastest."""
    point = []
    for n in reversed(shape):
        index, x = divmod(index, n)
        point.append(x)
    return tuple(reversed(point))


def _pairs(names: Sequence[str], shape: Sequence[int]) -> list[str]:
    return [f"{name} {extent}" for name, extent in zip(names, shape, strict=True)]


def _runs(table: Sequence[int]) -> list[str]:
    """Return the entries as `a`, `a+n` (n of them, counting up) or `a*n` (n times a)."""
    out, i = [], 0
    while i < len(table):
        first = table[i]
        up, same = _run_length(table, i, 1), _run_length(table, i, 0)
        length = max(up, same)
        if length < 3:
            out.append(str(first))
            length = 1
        else:
            out.append(f"{first}+{up}" if up >= same else f"{first}*{same}")
        i += length
    return out


def _run_length(table: Sequence[int], start: int, step: int) -> int:
    end = start + 1
    while end < len(table) and table[end] == table[end - 1] + step:
        end += 1
    return end - start
