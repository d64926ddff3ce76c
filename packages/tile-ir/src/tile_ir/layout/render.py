"""Small pictures of layouts for explanations: one cell per element of a tile's corner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.layout.base import Layout


def render_text(
    layout: Layout, *, rows: int = 8, columns: int = 16, element_bits: int | None = None
) -> str:
    """Return a grid of the first elements: their offsets, or `thread:value` in a fragment.

    The last two axes are shown (one axis as a single row), at 0 of the others. Of replicas the
    first is shown; `..` marks what is cut off. `element_bits` is needed for a swizzled layout
    (E0305).
    """
    shape = (1, 1, *layout.shape)[-2:]
    absent = max(0, 2 - len(layout.shape))
    lead = (0,) * max(0, len(layout.shape) - 2)
    shown = [min(rows, shape[0]), min(columns, shape[1])]
    cells = [
        [_cell(layout, (*lead, i, j)[absent:], element_bits) for j in range(shown[1])]
        for i in range(shown[0])
    ]
    width = max(len(c) for row in cells for c in row)
    more = " .." if shown[1] < shape[1] else ""
    lines = [" ".join(c.rjust(width) for c in row) + more for row in cells]
    if shown[0] < shape[0]:
        lines.append("..")
    return "\n".join([str(layout)[:100], *lines])


def _cell(layout: Layout, coord: tuple[int, ...], element_bits: int | None) -> str:
    if not layout.is_fragment:
        return str(layout.offset(coord, element_bits))
    owners = layout.owners(coord)
    return ":".join(map(str, owners[0])) if owners else "-"
