"""How many elements in a row an access may take: proved from starts, strides and extents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_passes.lower.threads.addresses import tile_layout

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_passes.analysis.facts import Facts
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["divides", "run_in_memory", "run_in_tile"]


def divides(e: Expr, by: int, facts: Facts) -> bool:
    """Whether `by` was shown to divide an integer expression."""
    found = facts.linear(e)
    return all(c % by == 0 for c in found.terms.values()) and found.const % by == 0


def run_in_memory(
    buffer: Buffer, region: Region, axis: int, top: int, cx: ThreadContext, *, clip: bool
) -> int:
    """The longest run of elements along `axis`, a power of two up to `top`, that starts aligned
    wherever a multiple of its length from the region's start begins, and lies wholly inside the
    buffer or wholly outside.

    The memory itself is taken to begin at an address aligned to the widest access.
    """
    if axis != len(region.ranges) - 1:
        return 1
    if buffer.scope == "shared":
        return run_in_tile(buffer, region, axis, top, cx)
    strides = _outer_strides(buffer)
    if strides is None:
        return 1
    numbers = [region.ranges[-1].start, *strides]
    if clip and _may_leave(buffer, region, cx):
        numbers.append(buffer.shape[-1])
    while top > 1 and not all(divides(e, top, cx.facts) for e in numbers):
        top //= 2
    return top


def _may_leave(buffer: Buffer, region: Region, cx: ThreadContext) -> bool:
    last = region.ranges[-1]
    end = b.le(b.add(last.start, last.extent), buffer.shape[-1])
    return cx.facts.prove(end) is not True


def _outer_strides(buffer: Buffer) -> list[Expr] | None:
    """The strides of a global buffer's axes but the last, None when elements are not in a row."""
    if buffer.strides is not None:
        *outer, last = buffer.strides
        return outer if b.eq(last, 1) is b.const(True) else None
    out: list[Expr] = []
    if buffer.rank > 1:
        # Every stride of a row-major buffer is a multiple of its row's length.
        out.append(buffer.shape[-1])
    return out


def run_in_tile(buffer: Buffer, region: Region, axis: int, top: int, cx: ThreadContext) -> int:
    """The same of a shared tile, along any axis of it."""
    layout = tile_layout(buffer)
    own = layout.inputs[axis]
    first = own.digits[0] if own.digits else None
    if first is None or first.stride != 1:
        return 1
    strides = [d.stride for other in layout.inputs if other is not own for d in other.digits]
    if len(own.digits) > 1:  # a run must not cross from one column of panels to the next
        strides += [first.extent, *(d.stride for d in own.digits[1:])]
    if layout.swizzle is not None:
        top = min(top, (8 << layout.swizzle.base) // buffer.dtype.storage_bits)
    start = region.ranges[axis].start
    while top > 1 and (any(s % top for s in strides) or not divides(start, top, cx.facts)):
        top //= 2
    return top
