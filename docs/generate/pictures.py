"""Writes docs/pictures/*.svg: the layouts of docs/concepts/layouts.md, drawn from the layouts
themselves.

`python docs/generate/pictures.py` writes, with `--check` it only says what is out of date.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from pages import write_or_check
from results import ROOT

from tile_ir.layout import Swizzle, blocked, panels, parse_layout, row_major

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.layout import Layout

FOLDER = ROOT / "docs" / "pictures"
CELL_HEIGHT, MARGIN, TITLE = 24, 8, 22
HUES = 8
"""Colours of a picture; owners and places take them in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A layout as a grid: `cell` gives the text and the number of the colour of an element.

    `step` elements of a row are drawn as one cell.
    """

    layout: Layout
    title: str
    cell: Callable[[Layout, int, int], tuple[str, int]]
    step: int = 1
    width: int = 44


def _chunk(layout: Layout, row: int, column: int) -> tuple[str, int]:
    """A run of 16 bytes of f16 elements: its number in memory; its four banks are the colour."""
    place = layout.offset((row, column), 16) // 8
    return str(place), place % 8


def _place(layout: Layout, row: int, column: int) -> tuple[str, int]:
    """An element's place in memory; one colour for each column of the packed panel."""
    place = layout.offset((row, column), 32)
    return str(place), place // 6


def _owner(layout: Layout, row: int, column: int) -> tuple[str, int]:
    thread, value = layout.owners((row, column))[0]
    return f"t{thread}:{value}", thread


PICTURES = {
    "row-major": Picture(
        layout=row_major((8, 64), ("m", "k")),
        title="rows in order: a column of 16-byte runs lies in four banks",
        cell=_chunk,
        step=8,
    ),
    "swizzled": Picture(
        layout=panels((8, 64), ("m", "k"), along="k", width=64, swizzle=Swizzle(3, 4, 3)),
        title="the same rows, swizzled: a column covers all banks",
        cell=_chunk,
        step=8,
    ),
    "accumulator": Picture(
        layout=parse_layout("thread (4:n*2, 8:m*1) value (2:n*1, 2:m*8)"),
        title="the sums of a 16x8 matrix instruction, thread:value",
        cell=_owner,
        width=48,
    ),
    "blocked": Picture(
        layout=blocked((8, 16), ("m", "n"), threads=32, vector=4),
        title="runs of four elements for each of 32 threads",
        cell=_owner,
        width=48,
    ),
    "panels": Picture(
        layout=panels((12, 8), ("m", "k"), along="m", width=6),
        title="panels of six rows, packed for a CPU's product",
        cell=_place,
    ),
}


def pages() -> dict[str, str]:
    """File name -> text."""
    return {f"{name}.svg": drawn(picture) for name, picture in PICTURES.items()}


def drawn(picture: Picture) -> str:
    """The picture as SVG; readable on light and dark pages."""
    rows, columns = picture.layout.shape
    across = columns // picture.step
    width, height = across * picture.width + 2 * MARGIN, rows * CELL_HEIGHT + TITLE + 3 * MARGIN
    cells = [_cell(picture, row, column) for row in range(rows) for column in range(across)]
    label = escape(f"{picture.title}: {picture.layout}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{label}" '
        'font-family="monospace" font-size="12" text-anchor="middle">\n'
        f'<rect width="{width}" height="{height}" rx="4" fill="#fff"/>\n'
        f'<text x="{MARGIN}" y="{MARGIN + 12}" text-anchor="start" font-size="11">'
        f"{escape(str(picture.layout))}</text>\n" + "".join(cells) + "</svg>\n"
    )


def _cell(picture: Picture, row: int, column: int) -> str:
    text, colour = picture.cell(picture.layout, row, column * picture.step)
    x, y = MARGIN + column * picture.width, MARGIN + TITLE + row * CELL_HEIGHT
    hue = colour % HUES * 360 // HUES
    return (
        f'<rect x="{x}" y="{y}" width="{picture.width}" height="{CELL_HEIGHT}" '
        f'fill="hsl({hue} 65% 82%)" stroke="#555" stroke-width="0.5"/>'
        f'<text x="{x + picture.width // 2}" y="{y + 16}">{text}</text>\n'
    )


if __name__ == "__main__":
    sys.exit(write_or_check({FOLDER / name: text for name, text in pages().items()}))
