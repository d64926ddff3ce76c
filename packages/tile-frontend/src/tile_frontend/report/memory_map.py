"""The shared memory of a block as a picture: where each buffer lies, and from which statement to
which it is in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.ops import Alloc, Channel
from tile_ir.rewrite import effects, walk

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.ops import Kernel

__all__ = ["Place", "memory_map", "places"]

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 440, 320, 66, 12, 28
COLOURS = 6
"""Colours that buffers take in turn."""


@dataclass(frozen=True, slots=True)
class Place:
    """A shared buffer: its bytes from `offset` on, how many slots of them, and the part of the
    kernel's statements, 0 to 1, in which it is used."""

    name: str
    offset: int
    size: int
    slots: int
    first: float
    last: float

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.size * self.slots


def places(kernel: Kernel) -> tuple[Place, ...]:
    """The shared buffers of a kernel that have offsets, by offset."""
    inner = tuple(walk(kernel.body))
    carried = {name for s in inner if isinstance(s, Channel) for name in s.carries}
    found = []
    for buffer in (s.buffer for s in inner if isinstance(s, Alloc)):
        if buffer.scope != "shared" or buffer.offset is None:
            continue
        used = [i for i, s in enumerate(inner) if any(e.buffer == buffer.name for e in effects(s))]
        first, last = (min(used), max(used) + 1) if used else (0, len(inner))
        if buffer.name in carried:  # what a channel guards is filled ahead of its use
            first, last = 0, len(inner)
        part = (first / len(inner), last / len(inner))
        found.append(Place(buffer.name, buffer.offset, _bytes(buffer), buffer.slots, *part))
    return tuple(sorted(found, key=lambda p: (p.offset, p.first)))


def _bytes(buffer: Buffer) -> int:
    count = prod(int(n.value) if isinstance(n, Const) else 1 for n in buffer.shape)
    return count * buffer.dtype.storage_bits // 8


def memory_map(found: tuple[Place, ...], capacity: int) -> str:
    """The picture: bytes downwards, the program from left to right. Empty without buffers."""
    if not found:
        return ""
    total = max([capacity, *(p.end for p in found)])
    high = HEIGHT - TOP - BOTTOM
    wide = WIDTH - LEFT - 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="memory" '
        'role="img"><title>Shared memory of a block</title>',
        f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" class="free"/>',
    ]
    for step in range(5):
        y = TOP + high * step / 4
        text = f"{total * step / 4 / 1024:.0f} KiB"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for i, p in enumerate(found):
        parts += _drawn(p, i % COLOURS, total, (wide, high))
    parts.append(
        f'<text x="{LEFT}" y="{HEIGHT - 8}">start of the program</text>'
        f'<text x="{WIDTH - 8}" y="{HEIGHT - 8}" text-anchor="end">end</text></svg>'
    )
    return f'<div class="beside">{"".join(parts)}{_table(found, capacity)}</div>'


def _table(found: tuple[Place, ...], capacity: int) -> str:
    """The same as numbers."""
    rows = "".join(
        f'<tr><td><i class="c{i % COLOURS}"></i>{escape(p.name)}</td><td>{p.offset:,}</td>'
        f"<td>{p.size:,}</td><td>{p.slots}</td></tr>"
        for i, p in enumerate(found)
    )
    used = max(p.end for p in found)
    return (
        '<div class="scroll"><table class="plain"><tr><th>buffer</th><th>from byte</th>'
        f"<th>bytes</th><th>slots</th></tr>{rows}</table>"
        f"<p>{used:,} of {capacity:,} bytes</p></div>"
    )


def _drawn(p: Place, colour: int, total: int, size: tuple[int, int]) -> list[str]:
    wide, high = size
    x, w = LEFT + p.first * wide, max(2.0, (p.last - p.first) * wide)
    out = []
    for slot in range(p.slots):
        y = TOP + (p.offset + slot * p.size) / total * high
        h = max(1.0, p.size / total * high - 1)
        at = p.offset + slot * p.size
        title = f"{p.name} slot {slot}: bytes {at} to {at + p.size}"
        out.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="2" '
            f'class="c{colour}"><title>{escape(title)}</title></rect>'
        )
    middle = TOP + (p.offset + p.size / 2) / total * high + 4
    if p.size / total * high >= 13:
        slots = f" × {p.slots}" if p.slots > 1 else ""
        text = f"{p.name}{slots}, {p.size * p.slots / 1024:.3g} KiB"
        out.append(f'<text x="{x + 10:.1f}" y="{middle:.1f}" class="on">{escape(text)}</text>')
    return out
