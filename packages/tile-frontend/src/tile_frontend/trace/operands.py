"""Operands of tile operations: buffers, regions and tile starts resolved into explicit boxes of
equal extents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_frontend.trace.buffers import BufferRef, Element, RegionRef
from tile_frontend.trace.indices import same
from tile_frontend.trace.values import Value
from tile_ir import build
from tile_ir.core import Buffer, Range, Region
from tile_ir.diag import TileError
from tile_ir.expr import Const, Expr

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Tile:
    """An operand: a box of a buffer, or with `extents` None a tile that starts at `starts`."""

    buffer: Buffer
    starts: tuple[Expr, ...]
    extents: tuple[Expr, ...] | None

    @property
    def is_start(self) -> bool:
        """Whether the extent comes from the other operand."""
        return self.extents is None

    @property
    def region(self) -> Region:
        """The box; a tile start alone means one element."""
        extents = self.extents or (build.const(1, "i32"),) * len(self.starts)
        return Region(
            self.buffer.name,
            tuple(Range(s, e) for s, e in zip(self.starts, extents, strict=True)),
        )

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its buffer, so that it cannot leave it."""
        if self.extents is None:
            return False
        whole = (_is_zero(s) for s in self.starts)
        return all(whole) and self.extents == self.buffer.shape

    @property
    def may_leave(self) -> bool:
        """Whether its elements may lie outside its buffer; on-chip buffers are the kernel's own
        business.
        """
        return self.buffer.scope == "global" and not self.is_whole

    def sized(self, extents: Sequence[Expr]) -> Tile:
        """This tile start with an extent, aligned from the last axis.

        Raises `TileError` E1401 when the extent has more axes than the buffer.
        """
        rank = len(self.starts)
        extra = len(extents) - rank
        if any(not _is_one(e) for e in extents[: max(0, extra)]):
            raise TileError(
                "E1401",
                f"a tile of {_text(extents)} does not fit {self.buffer.name}, which has {rank} "
                "axes",
                help="index the other operand so that the numbers of axes agree",
            )
        one = build.const(1, "i32")
        padded = (*(one,) * -extra, *extents) if extra < 0 else tuple(extents[extra:])
        return Tile(self.buffer, self.starts, padded)

    def __str__(self) -> str:
        return f"{self.buffer.name} {_text(self.extents or ())}"


def _is_one(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 1


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def _text(extents: Sequence[Expr]) -> str:
    return "(" + ", ".join(str(e) for e in extents) + ")"


def tile(x: object, what: str) -> Tile:
    """The operand that `x` is: a buffer, a region, an element, or a name bound to an element.

    Raises `TileError` E1405 for anything else.
    """
    if isinstance(x, BufferRef):
        zero = build.const(0, "i32")
        shape = x.buffer.shape
        return Tile(x.buffer, (zero,) * len(shape), shape)
    if isinstance(x, RegionRef):
        starts = tuple(r.start for r in x.ranges)
        return Tile(x.ref.buffer, starts, tuple(r.extent for r in x.ranges))
    origin = getattr(x, "origin", None)
    if isinstance(origin, Element):
        return Tile(origin.ref.buffer, origin.indices, None)
    kind = repr(x) if isinstance(x, Value) else f"an object of type {type(x).__name__}"
    raise TileError(
        "E1405",
        f"{what} works on buffers, not on {kind}",
        help="pass a buffer, a region A[i:j, k:l] or the start of a tile A[i, k]",
    )


def box(x: object, what: str) -> Tile:
    """An operand that must have an extent of its own.

    Raises `TileError` E1404 for a tile start.
    """
    made = tile(x, what)
    if made.is_start:
        raise TileError(
            "E1404",
            f"{what} cannot tell the size of a tile that starts at an element of "
            f"{made.buffer.name}",
            help="write the region with slices, A[i : i + 64, k : k + 32]",
        )
    return made


def matched(src: object, dst: object, what: str) -> tuple[Tile, Tile]:
    """Two operands as boxes of equal extents once unit axes are dropped.

    Raises `TileError` E1401 when the extents differ or cannot be compared.
    """
    a, b = tile(src, what), tile(dst, what)
    if a.is_start and not b.is_start:
        a = a.sized(b.extents or ())
    elif b.is_start and not a.is_start:
        b = b.sized(a.extents or ())
    left, right = _real(a), _real(b)
    if len(left) != len(right) or not all(same(x, y) for x, y in zip(left, right, strict=True)):
        raise TileError(
            "E1401",
            f"{what} moves {a} to {b}",
            notes=("apart from axes of extent 1 both sides have the same extents",),
            help="slice the larger side, or give only the start of the tile: A[i, j]",
        )
    return a, b


def _real(t: Tile) -> list[Expr]:
    return [e for e in (t.extents or ()) if not _is_one(e)]


def static_extents(t: Tile, what: str) -> tuple[int, ...]:
    """The extents of an operand as ints.

    Raises `TileError` E1205 when one is known only at run time.
    """
    out = []
    for extent in t.extents or ():
        if not isinstance(extent, Const):
            raise TileError(
                "E1205",
                f"{what} needs constant extents, but {t} is {extent} on one axis",
                help="copy the part you need into an on-chip tile of fixed size first",
            )
        out.append(int(extent.value))
    return tuple(out)
