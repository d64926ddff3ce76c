"""Layouts as pictures: which banks the rows of a shared tile begin in, and which thread holds each
element of a fragment.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError, TileError
from tile_ir.layout import FragmentLayout, TileLayout
from tile_ir.ops import Alloc
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.layout import Layout
    from tile_ir.ops import Kernel

__all__ = ["pictures"]

CHUNK, BANK_ROW = 16, 128
"""Bytes that one access of a thread or a matrix unit takes, and of one row of banks."""
ROWS, COLUMNS = 16, 16
"""The corner of a tile that is drawn."""
HUES = 8


def pictures(kernel: Kernel) -> str:
    """A figure for each different layout of the kernel's shared tiles and fragments of two axes,
    with the names of those that have it."""
    users: dict[tuple[str, str, int], list[Buffer]] = {}
    for buffer in (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)):
        if buffer.layout is not None and buffer.rank == 2:
            bits = buffer.dtype.storage_bits if buffer.scope == "shared" else 0
            users.setdefault((buffer.scope, str(buffer.layout), bits), []).append(buffer)
    figures = []
    for (scope, text, _), buffers in users.items():
        layout = buffers[0].layout
        assert layout is not None  # of those that have one
        try:
            drawn = _shared(layout, buffers[0]) if scope == "shared" else _fragment(layout)
        except (TileError, InternalError):
            continue  # no coordinates to draw: the decisions still have its text
        if drawn:
            names = ", ".join(f"<b>{escape(b.name)}</b>" for b in buffers)
            caption = f"<figcaption>{names}<code>{escape(text)}</code></figcaption>"
            figures.append(f"<figure>{drawn}{caption}</figure>")
    return "".join(figures)


def _shared(layout: Layout, buffer: Buffer) -> str:
    """Chunks of 16 bytes, coloured and numbered by the eighth of the banks that they lie in."""
    if not isinstance(layout, TileLayout):
        return ""
    bits = buffer.dtype.storage_bits
    each = max(1, CHUNK * 8 // bits)
    rows, columns = (layout.axis(f"d{i}").extent for i in (0, 1))
    cells = []
    for r in range(min(ROWS, rows)):
        line = []
        for c in range(0, min(columns, COLUMNS * each), each):
            place = layout.offset((r, c), bits) * bits // 8
            group = place % BANK_ROW // CHUNK
            title = f"row {r}, columns {c} to {c + each - 1}: byte {place}"
            line.append((group, str(group), title))
        cells.append(line)
    return _grid(cells, "banks: a colour is four banks, a cell 16 bytes of a row")


def _fragment(layout: Layout) -> str:
    """Elements, coloured by thread in groups of four, with the thread's number."""
    if not isinstance(layout, FragmentLayout) or len(layout.outputs) != 2:
        return ""
    holder: dict[tuple[int, ...], tuple[int, int]] = {}
    for value in range(layout.values):
        for thread in range(layout.threads):
            at = layout.evaluate((thread, value))
            if at[0] < ROWS and at[1] < COLUMNS:
                holder.setdefault(tuple(at), (thread, value))
    if not holder:
        return ""
    rows, columns = (max(at[i] for at in holder) + 1 for i in (0, 1))
    cells = []
    for r in range(rows):
        line = []
        for c in range(columns):
            thread, value = holder.get((r, c), (-1, -1))
            title = f"element ({r}, {c}): thread {thread}, value {value}"
            line.append((thread // 4 % HUES, str(thread) if thread >= 0 else "", title))
        cells.append(line)
    return _grid(cells, "threads: the number is the thread that holds the element")


def _grid(cells: list[list[tuple[int, str, str]]], what: str) -> str:
    columns = max(len(line) for line in cells)
    size = 22
    width, height = columns * size, len(cells) * size
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" class="layout" '
        f'style="max-width:{width}px" role="img"><title>{what}</title>'
    ]
    for r, line in enumerate(cells):
        for c, (hue, text, title) in enumerate(line):
            x, y = c * size, r * size
            parts.append(
                f'<g><title>{escape(title)}</title><rect x="{x}" y="{y}" width="{size - 1}" '
                f'height="{size - 1}" rx="2" class="h{hue}"/>'
                f'<text x="{x + size / 2 - 0.5}" y="{y + 15}">{text}</text></g>'
            )
    return f'{"".join(parts)}</svg><p class="what">{what}</p>'
