"""Boxes of buffers as numpy views: whole when in bounds, cut to the buffer when a side may leave
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.interp.indexing import outside, ring, slot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.core import Buffer, Range, Region
    from tile_ir.interp.context import Context
    from tile_ir.interp.indexing import Index
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.interp.storage import Array, Storage
    from tile_ir.types import DType


@dataclass(frozen=True, slots=True)
class Side:
    """One axis of a region: where it is known to lie (`fixed`), else where to find out; `unit`:
    extent 1 always.
    """

    fixed: slice | None
    start: Eval
    extent: Eval
    unit: bool


def _side(cx: Context, r: Range, shape: int | None) -> Side:
    start, extent = cx.expr(r.start), cx.expr(r.extent)
    unit = isinstance(r.extent, Const) and r.extent.value == 1
    fixed = None
    if shape is not None and isinstance(r.start, Const) and isinstance(r.extent, Const):
        lo, hi = int(r.start.value), int(r.start.value) + int(r.extent.value)
        if lo >= 0 and hi <= shape:
            fixed = slice(lo, hi)
    return Side(fixed, start, extent, unit)


@dataclass(frozen=True, slots=True)
class Cut:
    """A region cut to its buffer: the part inside, as index of the buffer and as index of the full
    box.
    """

    box: tuple[int, ...]
    of_buffer: Index
    of_box: Index


@dataclass(frozen=True, slots=True)
class Tile:
    """A compiled region. An index it gives is for the array of `memory`, which has no slot axis."""

    name: str
    dtype: DType
    sides: tuple[Side, ...]
    slot: Callable[[Env], int] | None
    whole: bool
    """Whether it is known to be all of its buffer, without unit axes to drop."""

    def memory(self, env: Env) -> tuple[Array, Array | None]:
        """The memory of the buffer (of the slot that is meant), and which elements were written."""
        return ring(env.bufs[self.name], self.slot, env)

    def storage(self, env: Env) -> Storage:
        """The storage of the buffer."""
        return env.bufs[self.name]

    def index(self, env: Env, shape: Sequence[int], *, keep: bool = False) -> Index | None:
        """The index of the box in an array of `shape`, without unit axes unless `keep`; None when
        it sticks out.
        """
        if self.whole:
            return ()
        out: list[Any] = []
        for side, extent in zip(self.sides, shape):  # noqa: B905 -- a vector buffer has its lanes as one more axis
            where = side.fixed
            if where is None:
                lo = side.start(env)
                hi = lo + side.extent(env)
                if lo < 0 or hi > extent:
                    return None
                where = slice(lo, max(hi, lo))
            out.append(where.start if side.unit and not keep else where)
        return tuple(out)

    def view(self, env: Env) -> Array:
        """The whole box with all its axes, for ops that do not clip; writable.

        Raises:
            TileError: E0502 when it leaves its buffer.
        """
        array, _ = self.memory(env)
        index = self.index(env, array.shape, keep=True)
        if index is None:
            raise self.sticks_out(env, array.shape, "access")
        found: Array = array[index]
        return found

    def sticks_out(self, env: Env, shape: Sequence[int], what: str) -> TileError:
        """The error for a box outside a buffer of `shape`."""
        text = ", ".join(f"{s.start(env)} : +{s.extent(env)}" for s in self.sides)
        return outside(self.name, what, f"[{text}]", shape)

    def cut(self, env: Env, shape: Sequence[int]) -> Cut:
        """The box cut to an array of `shape`."""
        box, buffer, inner = [], [], []
        for side, extent in zip(self.sides, shape):  # noqa: B905 -- a vector buffer has its lanes as one more axis
            start = side.start(env)
            size = max(side.extent(env), 0)
            lo = min(max(start, 0), extent)
            hi = max(min(start + size, extent), lo)
            box.append(size)
            buffer.append(slice(lo, hi))
            # A box wholly beside the buffer meets it in an empty slice, wherever that is.
            inner.append(slice(lo - start, hi - start) if hi > lo else slice(0, 0))
        return Cut(tuple(box), tuple(buffer), tuple(inner))


def compile_region(cx: Context, region: Region, end: str) -> Tile:
    """Compile a region; `end` says whose cursor a channel slot in it means."""
    buffer = cx.buffers[region.buffer]
    shapes = [_constant(buffer, k) for k in range(buffer.rank)]
    sides = tuple(_side(cx, r, n) for r, n in zip(region.ranges, shapes, strict=True))
    whole = bool(sides) and all(
        s.fixed is not None and not s.unit and n == s.fixed.stop - s.fixed.start
        for s, n in zip(sides, shapes, strict=True)
    )
    return Tile(region.buffer, buffer.dtype, sides, slot_of(buffer, region.slot, end), whole)


def reading(cx: Context, region: Region) -> Tile:
    """Compile a region that is read."""
    return compile_region(cx, region, cx.read_end(region.slot))


def writing(cx: Context, region: Region) -> Tile:
    """Compile a region that is written or updated."""
    return compile_region(cx, region, cx.write_end(region.slot))


def _constant(buffer: Buffer, axis: int) -> int | None:
    extent = buffer.shape[axis]
    return int(extent.value) if isinstance(extent, Const) else None


def fit(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` in `shape`, which differs in unit axes only.

    Raises:
        TileError: E0510 when it differs otherwise.
    """
    if x.shape == shape:
        return x
    if [n for n in x.shape if n != 1] != [n for n in shape if n != 1]:
        raise TileError(
            "E0510",
            f"a region of {list(x.shape)} meets one of {list(shape)}",
            help="give both regions the same extents; only axes of extent 1 may differ",
        )
    return x.reshape(shape)


def all_defined(env: Env, dst: Tile) -> None:
    """Note that every element of a box was written."""
    array, defined = dst.memory(env)
    if defined is not None:
        defined[dst.index(env, array.shape)] = True
