"""What a lowering rule may ask, and the small pieces that all rules build from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Expr, Var
from tile_ir.opdef import Body, Stmt
from tile_ir.ops import Let, Parallel, Store
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Range, Region
    from tile_ir.diag import Span
    from tile_passes.analysis.facts import Facts
    from tile_passes.naming import Names

AXIS_NAMES = ("i", "j", "k", "l")
ZERO = b.const(0, i32)


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerContext:
    """Buffers by name, a source of fresh names, the facts at the statement, whether numerics are
    strict.
    """

    buffers: Mapping[str, Buffer]
    names: Names
    facts: Facts
    strict: bool = False

    def loop_vars(self, count: int) -> tuple[Var, ...]:
        """Fresh i32 loop variables, outermost first."""
        return tuple(self.names.var(AXIS_NAMES[min(i, 3)]) for i in range(count))


Rule = Callable[[Stmt, LowerContext], "Body | None"]
"""Rewrites one statement into simpler ones; None when the rule does not apply to this statement."""


@dataclass(frozen=True, slots=True)
class Window:
    """The part [low, high) of a range of iterations that lies inside a buffer's axis."""

    low: Expr
    high: Expr

    @property
    def extent(self) -> Expr:
        """How many iterations are inside."""
        return b.sub(self.high, self.low)


def is_unit(r: Range) -> bool:
    """Whether the range is a single coordinate."""
    return isinstance(r.extent, Const) and r.extent.value == 1


def long_axes(region: Region) -> tuple[int, ...]:
    """The axes of a region with more than one coordinate."""
    return tuple(a for a, r in enumerate(region.ranges) if not is_unit(r))


def indices(region: Region, at: Mapping[int, Expr]) -> tuple[Expr, ...]:
    """Coordinates in the buffer: each range's start plus the iteration given for its axis."""
    return tuple(
        b.add(r.start, at[axis]) if axis in at else r.start for axis, r in enumerate(region.ranges)
    )


def element_value(value: Expr, buffer: Buffer) -> Expr:
    """`value` converted to what the buffer holds."""
    return b.cast(value, buffer.dtype)


def parallel(vars_: Sequence[Var], extents: Sequence[Expr], body: Body, span: Span | None) -> Body:
    """Independent iterations; the body itself when there is no axis."""
    if not vars_:
        return body
    return (Parallel(vars=tuple(vars_), extents=tuple(extents), body=body, span=span),)


def store(buffer: Buffer, at: tuple[Expr, ...], value: Expr, span: Span | None) -> Store:
    """A write of one element, converted to the buffer's type."""
    return Store(buffer=buffer.name, indices=at, value=element_value(value, buffer), span=span)


def window(r: Range, extent: Expr, facts: Facts) -> Window:
    """Which iterations of a range lie inside [0, extent), with what is provable left out."""
    low: Expr = ZERO
    if facts.prove(b.ge(r.start, 0)) is not True:
        low = b.minimum(b.maximum(b.neg(r.start), 0), r.extent)
    if facts.prove(b.le(b.add(r.start, r.extent), extent)) is True:
        return Window(low, r.extent)
    high = b.minimum(b.sub(extent, r.start), r.extent)
    if low is not ZERO or facts.prove(b.le(r.start, extent)) is not True:
        high = b.maximum(high, low)
    return Window(low, high)


def bind(
    windows: list[Window], cx: LowerContext, stems: Sequence[str], span: Span | None
) -> tuple[list[Window], Body]:
    """Give names to window bounds that are no constants; returns the windows over the names, and
    the bindings.
    """
    lets: list[Stmt] = []

    def named(e: Expr, stem: str) -> Expr:
        if isinstance(e, (Const, Var)):
            return e
        var = cx.names.var(stem, e.dtype)
        lets.append(Let(var=var, value=e, span=span))
        return var

    out = [
        Window(named(w.low, f"{stem}_low"), named(w.high, stem))
        for w, stem in zip(windows, stems, strict=True)
    ]
    return out, tuple(lets)
