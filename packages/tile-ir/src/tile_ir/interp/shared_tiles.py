"""Shared tiles of one thread's program that engines address by coordinates: where each element lies
in the memory that threads address themselves."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.interp.threads import of_thread
from tile_ir.layout import TileLayout

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region
    from tile_ir.interp.context import Context
    from tile_ir.interp.machine import Env
    from tile_ir.interp.storage import Array

__all__ = ["Box", "is_tile", "places", "run_length", "twin"]


def is_tile(cx: Context, buffer: Buffer) -> bool:
    """Whether a buffer of one thread's program keeps the axes of a tile."""
    return cx.threads > 0 and buffer.scope == "shared" and isinstance(buffer.layout, TileLayout)


def run_length(buffer: Buffer) -> int:
    """The elements of memory that a tile takes."""
    assert isinstance(buffer.layout, TileLayout)  # asked of tiles
    return buffer.layout.cosize(buffer.dtype.storage_bits)


def twin(cx: Context, buffer: Buffer) -> str | None:
    """The tile whose memory a flat buffer names as well: the last one of its type at its offset
    that is declared before it. Earlier ones may be of another kernel."""
    if not cx.threads or buffer.scope != "shared" or buffer.layout is not None:
        return None
    found = None
    for other in cx.buffers.values():
        if other.name == buffer.name:
            break
        same = (other.offset, other.dtype) == (buffer.offset, buffer.dtype)
        if same and buffer.offset is not None and is_tile(cx, other):
            found = other.name
    return found


def places(buffer: Buffer) -> Array:
    """The offset in elements of every element of a tile, in an array of the tile's shape."""
    assert isinstance(buffer.layout, TileLayout)  # asked of tiles
    shape = tuple(int(e.value) for e in buffer.shape if isinstance(e, Const))
    return _places(buffer.layout, shape, buffer.dtype.storage_bits)


@lru_cache(maxsize=64)
def _places(layout: TileLayout, shape: tuple[int, ...], bits: int) -> Array:
    grid = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    linear = np.asarray(layout.evaluate(grid)[0])
    if layout.swizzle is None:
        return linear
    moved = np.array([layout.swizzle.apply_elements(int(at), bits) for at in linear.reshape(-1)])
    return moved.reshape(shape)


class Box:
    """A region with constant extents, evaluated for one thread."""

    def __init__(self, cx: Context, region: Region) -> None:
        self.name, self.buffer = region.buffer, cx.buffers[region.buffer]
        self.starts = [cx.expr(r.start) for r in region.ranges]
        self.shape = tuple(
            int(r.extent.value) if isinstance(r.extent, Const) else 0 for r in region.ranges
        )

    def corner(self, env: Env, thread: int) -> tuple[int, ...]:
        """Where it begins."""
        return tuple(of_thread(start(env), thread) for start in self.starts)

    def offsets(self, corner: tuple[int, ...]) -> Array:
        """Where its elements are in a tile's memory."""
        index = tuple(slice(at, at + n) for at, n in zip(corner, self.shape, strict=True))
        found: Array = places(self.buffer)[index]
        if found.shape != self.shape:
            fix = f"begin it so that its extents {list(self.shape)} end inside of the tile"
            raise TileError("E0502", f"a box at {list(corner)} leaves {self.name}", help=fix)
        return found

    def part(self, corner: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, Any]:
        """The part inside of an array, as index of the array and as index of the box."""
        cut = [
            (max(at, 0), min(at + n, full))
            for at, n, full in zip(corner, self.shape, shape, strict=True)
        ]
        outer = tuple(slice(lo, max(hi, lo)) for lo, hi in cut)
        inner = tuple(
            slice(lo - at, hi - at) if hi > lo else slice(0, 0)
            for at, (lo, hi) in zip(corner, cut, strict=True)
        )
        return outer, inner
