"""The address of an element as C++, in the parts that a compiler can share between accesses.

Sums are printed in the order that keeps what is the same in all steps of a loop together; a
compiler that knows nothing of slots or unrolled loops does not find the common part once numbers
that share no bits have become one bit operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Load, Var, free_vars, walk
from tile_passes.emit.dialect import ADD

if TYPE_CHECKING:
    from tile_ir.core import Region
    from tile_passes.emit import ExprPrinter, StmtPrinter

__all__ = ["place_of", "summands"]


def summands(e: Expr) -> list[Expr]:
    """The terms of a sum of integers, from the left."""
    if isinstance(e, Binary) and e.op == "add" and e.dtype.is_int:
        return [*summands(e.a), *summands(e.b)]
    return [e]


def place_of(p: StmtPrinter, region: Region) -> str:
    """The address of a region's first element: a pointer, or in shared memory the 32-bit address
    where part of it moves.

    What moves with scalars of the thread (the slot of a ring) or with unrolled loops is added to
    the address of what does not: the compiler must not see through the sum, or it would mix both
    into bit operations of every access.
    """
    buffer = p.exprs.buffers[region.buffer]
    name, starts = p.exprs.name(region.buffer), [r.start for r in region.ranges]
    if buffer.dtype.storage_bits < 8:
        return f"&{name}[({p.exprs.offset(buffer, starts)}) >> 1]"
    if buffer.scope == "shared" and len(starts) == 1:
        own, moving = _by_change(p.exprs, starts[0])
        if moving is not None:
            size = buffer.dtype.storage_bits // 8
            added = p.exprs.value(b.mul(moving, size), ADD)
            return f"tile_shared(&{name}[{p.exprs.offset(buffer, [own])}]) + {added}"
    return f"&{name}[{p.exprs.offset(buffer, starts)}]"


def _by_change(exprs: ExprPrinter, start: Expr) -> tuple[Expr, Expr | None]:
    """What the thread alone decides, and what is added to it; None where no scalar moves it."""
    zero: Expr = Const(0, start.dtype)
    own, moving, steps = zero, zero, zero
    for term in summands(start):
        if any(isinstance(e, Load) and exprs.buffers[e.buffer].scope == "var" for e in walk(term)):
            moving = b.add(moving, term)
        elif free_vars(term) <= unrolled_of(exprs):
            steps = b.add(steps, term)
        else:
            own = b.add(own, term)
    return (own, b.add(moving, steps)) if moving is not zero else (start, None)


def unrolled_of(exprs: ExprPrinter) -> frozenset[Var]:
    """The variables of unrolled loops, whose steps become constants."""
    found: frozenset[Var] = getattr(exprs, "unrolled", frozenset())
    return found
