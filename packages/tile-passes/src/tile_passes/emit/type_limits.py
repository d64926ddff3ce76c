"""Types that the kernels of a target cannot hold, said before anything is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import walk as walk_expr
from tile_ir.ops import Alloc, Kernel, View
from tile_ir.rewrite import all_effects, declared, stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from tile_ir.core import Function
    from tile_ir.diag import Span
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType

__all__ = ["refuse_types"]


def refuse_types(fn: Function, lacking: Set[DType], why: str, instead: str) -> None:
    """Raise TileError E3101 where a kernel computes with or stores one of the scalar types
    `lacking`; `why` is a sentence about the target, `instead` says what to do."""
    buffers = declared(fn)
    for kernel in walk(fn.body):
        if not isinstance(kernel, Kernel):
            continue
        for stmt in walk(kernel.body):
            for dtype in _computed(stmt):
                if dtype in lacking:
                    raise _lacks("a value", dtype, stmt.span, why, instead)
        for name in sorted({e.buffer for e in all_effects(kernel.body)}):
            if buffers[name].dtype.scalar in lacking:
                raise _lacks(name, buffers[name].dtype.scalar, kernel.span, why, instead)


def _computed(stmt: Stmt) -> Iterator[DType]:
    """The scalar types of the memory that a statement declares and of the values it computes."""
    if isinstance(stmt, (Alloc, View)):
        yield stmt.buffer.dtype.scalar
    for root in stmt_exprs(stmt):
        for e in walk_expr(root):
            yield e.dtype.scalar


def _lacks(what: str, dtype: DType, span: Span | None, why: str, instead: str) -> TileError:
    return TileError(
        "E3101",
        f"{what} in {dtype.name}: kernels of this target have no such type",
        span,
        (why,),
        instead,
    )
