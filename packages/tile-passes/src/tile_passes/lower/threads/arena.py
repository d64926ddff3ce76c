"""One arena of shared memory: every tile at a byte offset, dead tiles' bytes used again.

Tiles that have no offset yet are placed largest first, each at the lowest aligned offset at which
it meets no tile that is alive at the same time.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.layout import TileLayout
from tile_ir.ops import Alloc, For, Tiles, View, While
from tile_passes.analysis.liveness import Interval, interferences
from tile_passes.lower.threads.addresses import flattened
from tile_passes.lower.threads.pieces import Item, Piece

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_passes.lower.threads.pieces import Items
    from tile_passes.lower.threads.touches import Toucher

__all__ = ["Arena", "arena", "end_of"]

_LEAST_ALIGNMENT = 16
"""Bytes: the widest access of a thread."""


@dataclasses.dataclass(frozen=True, slots=True)
class Arena:
    """The shared tiles of a kernel, flat, at their offsets, and the tile that each view names."""

    placed: dict[str, Buffer]
    roots: dict[str, str]

    def overlap(self, a: str, c: str) -> bool:
        """Whether two buffers have memory in common."""
        a, c = self.roots.get(a, a), self.roots.get(c, c)
        if a == c:
            return True
        if a not in self.placed or c not in self.placed:
            return False
        (start, stop), (low, high) = _bytes(self.placed[a]), _bytes(self.placed[c])
        return start < high and low < stop


class _Lives:
    """From where to where each tile is needed, in numbered pieces; a loop that touches a tile from
    outside needs it from its first piece to its last."""

    def __init__(self, toucher: Toucher, resident: frozenset[str]) -> None:
        self.toucher = toucher
        self.resident = resident
        self.at = 0
        self.tiles: dict[str, Buffer] = {}
        self.roots: dict[str, str] = {}
        self.found: dict[str, Interval] = {}

    def items(self, items: Items) -> None:
        for item in items:
            self.item(item)

    def item(self, item: Item) -> None:
        first = self.at
        self.at += 1
        if isinstance(item, Piece):
            self._declared(item)
            self._touch(item, first)
            return
        before = set(self.tiles)
        self._touch_names({t.buffer for t in self.toucher.head(item)}, first)
        owners = 0
        for _, part in item.bodies:
            known = len(self.tiles)
            self.items(part)
            owners += len(self.tiles) > known
        if item.barriers and owners > 1:  # the bodies run at the same time
            self._touch_names(set(self.tiles) - before, first)
            self._touch_names(set(self.tiles) - before, self.at - 1)
        if isinstance(item.stmt, (For, While)) or _repeats(item.stmt):
            inside = {self.roots.get(t.buffer, t.buffer) for t in self.toucher.of(item)} & before
            self._touch_names(inside, first)
            self._touch_names(inside, self.at - 1)

    def stay(self) -> None:
        """Tiles needed throughout, the numbering now being known."""
        for name in self.resident & self.tiles.keys():
            self.found[name] = Interval(0, self.at)

    def _declared(self, piece: Piece) -> None:
        for s in piece.body:
            if isinstance(s, Alloc) and s.buffer.scope == "shared":
                self.tiles[s.buffer.name] = s.buffer
            elif isinstance(s, View):
                self.roots[s.buffer.name] = self.roots.get(s.source, s.source)

    def _touch(self, piece: Piece, at: int) -> None:
        self._touch_names({t.buffer for t in self.toucher.of(piece)}, at)

    def _touch_names(self, names: set[str], at: int) -> None:
        here = Interval(at, at)
        for name in names:
            root = self.roots.get(name, name)
            old = self.found.get(root)
            self.found[root] = here if old is None else old.hull(here)


def _repeats(s: object) -> bool:
    return isinstance(s, Tiles) and s.claim != "hardware"


def arena(items: Items, toucher: Toucher, resident: frozenset[str] = frozenset()) -> Arena:
    """Place the shared tiles that a kernel's pieces declare; `resident` ones are needed throughout,
    whoever touches them when."""
    lives = _Lives(toucher, resident)
    lives.items(items)
    lives.stay()
    tiles = lives.tiles
    meets: dict[str, set[str]] = {name: set() for name in tiles}
    for a, c in interferences({n: r for n, r in lives.found.items() if n in tiles}):
        meets[a].add(c)
        meets[c].add(a)
    flat = {name: flattened(tile) for name, tile in tiles.items()}
    placed = {name: b for name, b in flat.items() if b.offset is not None}
    for name in sorted(flat, key=lambda n: (-_size(flat[n]), n)):
        if name not in placed:
            taken = sorted(_bytes(placed[n]) for n in meets[name] if n in placed)
            offset = _lowest(taken, _size(flat[name]), _alignment(tiles[name]))
            placed[name] = dataclasses.replace(flat[name], offset=offset)
    return Arena(placed, lives.roots)


def _size(flat: Buffer) -> int:
    """Bytes of a shared tile that is one run of elements."""
    (extent,) = flat.shape
    assert isinstance(extent, Const)  # tiles are static
    return -(-int(extent.value) * flat.dtype.storage_bits // 8)


def end_of(flat: Buffer) -> int:
    """Where a placed tile ends, in bytes of the arena."""
    return _bytes(flat)[1]


def _bytes(flat: Buffer) -> tuple[int, int]:
    assert flat.offset is not None  # placed
    return flat.offset, flat.offset + _size(flat)


def _alignment(tile: Buffer) -> int:
    layout = tile.layout
    if isinstance(layout, TileLayout) and layout.swizzle is not None:
        return max(_LEAST_ALIGNMENT, layout.swizzle.alignment)
    return _LEAST_ALIGNMENT


def _lowest(taken: list[tuple[int, int]], size: int, alignment: int) -> int:
    at = 0
    for start, stop in taken:
        if at + size <= start:
            break
        at = max(at, -(-stop // alignment) * alignment)
    return at
