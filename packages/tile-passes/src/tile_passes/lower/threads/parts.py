"""Which registers hold a box of a fragment.

The box must not cut through what threads divide among each other; then its registers are those with
certain digits fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.layout import Digit, FragmentLayout, places

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region

__all__ = ["Part", "part_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """The registers of a box: `base` plus, for each of `runs`, a multiple of its place; `layout` is
    that of the box alone."""

    layout: FragmentLayout
    base: int
    runs: tuple[tuple[int, int], ...]
    """(extent, place), fastest first."""


def part_of(region: Region, buffer: Buffer) -> Part | None:
    """The registers of a region of a fragment, None where they are not the same in all threads."""
    layout = buffer.layout
    if not isinstance(layout, FragmentLayout) or len(layout.outputs) != len(region.ranges):
        return None
    box: dict[str, tuple[int, int]] = {}
    for name, r, full in zip(layout.outputs, region.ranges, buffer.shape, strict=True):
        if not (isinstance(r.start, Const) and isinstance(r.extent, Const)):
            return None
        if r.extent is not full:
            box[name] = int(r.start.value), int(r.extent.value)
    if any(start % size for start, size in box.values()):
        return None
    divided = (d for d in (*layout.thread, *layout.group) if d.axis in box)
    if any(d.extent * d.stride > box[d.axis][1] for d in divided):  # type: ignore[index]  # it has an axis
        return None
    return _registers(layout, box)


def _registers(layout: FragmentLayout, box: dict[str, tuple[int, int]]) -> Part | None:
    base, kept = 0, list[tuple[Digit, int]]()
    for place, d in zip(places(layout.value), layout.value, strict=True):
        start, size = box.get(d.axis or "", (0, d.extent * d.stride))
        inside = min(d.extent, -(-size // d.stride))
        if d.extent % inside or (inside < d.extent and size % d.stride and d.stride % size):
            return None
        if inside > 1 and inside * d.stride > size:
            return None
        base += start // (d.stride * inside) % (d.extent // inside) * place * inside
        if inside > 1:
            kept.append((Digit(inside, d.axis, d.stride), place))
    sub = FragmentLayout(
        thread=(*layout.thread, *layout.group),
        value=tuple(d for d, _ in kept),
        outputs=layout.outputs,
    )
    return Part(sub, base, _runs(kept))


def _runs(kept: list[tuple[Digit, int]]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    for d, place in kept:
        if out and out[-1][0] * out[-1][1] == place:
            out[-1] = out[-1][0] * d.extent, out[-1][1]
        else:
            out.append((d.extent, place))
    return tuple(out)
