"""What no kernel in Metal can hold, said before anything is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.expr import walk as walk_expr
from tile_ir.ops import Alloc, Kernel, View
from tile_ir.rewrite import all_effects, declared, stmt_exprs, walk
from tile_ir.types import f64

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.diag import Span
    from tile_ir.opdef import Stmt

__all__ = ["refuse_doubles"]


def refuse_doubles(fn: Function) -> None:
    """Raise TileError E3101 where a kernel computes or stores f64, which the hardware lacks."""
    buffers = declared(fn)
    for kernel in walk(fn.body):
        if not isinstance(kernel, Kernel):
            continue
        for stmt in walk(kernel.body):
            if _computes(stmt):
                raise _no_doubles("a value", stmt.span)
        used = {e.buffer for e in all_effects(kernel.body)}
        for name in sorted(used):
            if buffers[name].dtype.scalar is f64:
                raise _no_doubles(name, kernel.span)


def _computes(stmt: Stmt) -> bool:
    if isinstance(stmt, (Alloc, View)) and stmt.buffer.dtype.scalar is f64:
        return True
    return any(e.dtype.scalar is f64 for root in stmt_exprs(stmt) for e in walk_expr(root))


def _no_doubles(what: str, span: Span | None) -> TileError:
    return TileError(
        "E3101",
        f"{what} in f64: kernels of this target have no such type",
        span,
        ("Metal Shading Language has no double",),
        "Use float32, or run the kernel with target='cpu'.",
    )
