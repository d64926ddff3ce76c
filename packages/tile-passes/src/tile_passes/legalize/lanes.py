"""A vector store taken apart, for where some of its lanes may lie outside.

What a vector access means outside a buffer is what each of its elements means there, so it is done
element by element unless all of them are known to be inside.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.expr import Broadcast, Expr, Ramp, Var
from tile_ir.ops import Let, Store
from tile_ir.rewrite import replace

if TYPE_CHECKING:
    from tile_ir.diag import Span
    from tile_ir.opdef import Stmt
    from tile_passes.naming import Names

__all__ = ["ends", "store_by_lane", "vector_outside"]


def ends(index: Expr) -> tuple[Expr, ...]:
    """Scalars between which all lanes of an index lie; the index itself where that is unknown."""
    if not isinstance(index, Ramp):
        return (index,)
    return (lane(index, 0), lane(index, index.dtype.lanes - 1))


def store_by_lane(s: Store, names: Names) -> tuple[Stmt, ...]:
    """The store as one for each lane; all are computed before the first is written.

    Raises:
        TileError: E0612 when the value was bound to a name as a vector.
    """
    lanes = range(s.indices[-1].dtype.lanes)
    values = [lane(s.value, n, s.span) for n in lanes]
    vars_ = [names.var("lane", value.dtype) for value in values]
    lets = [Let(var=v, value=e, span=s.span) for v, e in zip(vars_, values, strict=True)]
    stores = [
        replace(s, indices=(*s.indices[:-1], lane(s.indices[-1], n, s.span)), value=v)
        for n, v in zip(lanes, vars_, strict=True)
    ]
    return (*lets, *stores)


def lane(e: Expr, n: int, span: Span | None = None) -> Expr:
    """Lane `n` of a vector; a scalar is its own.

    Raises:
        TileError: E0612 for a vector behind a name.
    """
    if e.dtype.lanes == 1:
        return e
    if isinstance(e, Ramp):
        return b.add(e.base, n * e.stride)
    if isinstance(e, Broadcast):
        return e.a
    if isinstance(e, Var):
        raise vector_outside(e.name, span)
    made: Any = e.with_children(tuple(lane(c, n, span) for c in e.children()))
    one: Expr = dataclasses.replace(made, dtype=e.dtype.with_lanes(1))
    return one


def vector_outside(name: str, span: Span | None) -> TileError:
    """The refusal of a vector access that can be neither proved inside nor taken apart."""
    return TileError(
        "E0612",
        f"the vector access of '{name}' may leave the tensor",
        span=span,
        notes=("a vector that is bound to a name is read as a whole, inside or not",),
        help="guard it with `if` so that all its elements exist, or read element by element",
    )
