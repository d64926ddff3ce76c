"""A program in float64: every float of it is one, so nothing is rounded that float64 can hold.

Conversions between floats disappear, those to integers stay: a quantized result may lie on the
other side of a rounding boundary. Constants are those of the program, rounded to their types.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tile_ir import expr as ex
from tile_ir.core import Buffer, Function, Param
from tile_ir.diag import TileError
from tile_ir.expr import Bitcast, Cast, Const, Expr, Var
from tile_ir.opdef import opdef
from tile_ir.ops import View
from tile_ir.rewrite import declared, map_bodies, map_exprs, walk
from tile_ir.rewrite import replace as changed
from tile_ir.types import DType, f64

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt

__all__ = ["in_double", "wide"]


def wide(dt: DType) -> DType:
    """The type with float64 lanes in the place of any other floats."""
    return f64.with_lanes(dt.lanes) if dt.is_float else dt


def in_double(fn: Function) -> Function:
    """The program at stage `tile` with every float a float64.

    Raises:
        TileError: E0519 for a program that reads the bits of a float as another type.
    """
    _check(fn)
    return _Widening().function(fn)


def _check(fn: Function) -> None:
    buffers = declared(fn)
    for s in walk(fn.body):
        found = [e for top in _tops(s) for e in ex.walk(top) if isinstance(e, Bitcast)]
        if any(e.dtype.is_float or e.a.dtype.is_float for e in found):
            raise _bits(s)
        if isinstance(s, View):
            seen, kept = s.buffer.dtype, buffers[s.source].dtype
            if seen is not kept and (seen.is_float or kept.is_float):
                raise _bits(s)


def _tops(s: Stmt) -> list[Expr]:
    from tile_ir.rewrite import stmt_exprs

    return list(stmt_exprs(s))


def _bits(s: Stmt) -> TileError:
    return TileError(
        "E0519",
        "the program reads the bits of a float as another type",
        s.span,
        notes=("in float64 these bits are others, so there is nothing to compare with",),
        help="compare with a reference of your own, or with `tile_ir.interp.run`",
    )


class _Widening:
    def __init__(self) -> None:
        self._memo: dict[Expr, Expr] = {}

    def expr(self, e: Expr) -> Expr:
        return ex.rewrite(e, _widened, self._memo)

    def function(self, fn: Function) -> Function:
        return dataclasses.replace(
            fn, params=tuple(map(self.param, fn.params)), body=self.body(fn.body)
        )

    def param(self, p: Param) -> Param:
        if p.buffer is not None:
            return Param(buffer=self.buffer(p.buffer))
        assert p.scalar is not None  # one of the two is set
        return Param(scalar=self.var(p.scalar))

    def var(self, v: Var) -> Var:
        return Var(v.name, wide(v.dtype))

    def buffer(self, b: Buffer) -> Buffer:
        safe = None if b.safe_value is None else self.expr(b.safe_value)
        # Layouts are promises about the places of elements of the old width.
        return dataclasses.replace(b, dtype=wide(b.dtype), safe_value=safe, layout=None)

    def body(self, body: Body) -> Body:
        return tuple(map(self.stmt, body))

    def stmt(self, s: Stmt) -> Stmt:
        made = map_bodies(map_exprs(s, self.expr), self.body)
        bound = {f.name: self.bound(getattr(s, f.name)) for f in opdef(s).of_kind("binds")}
        return changed(made, **bound)

    def bound(self, value: Any) -> Any:
        if isinstance(value, Var):
            return self.var(value)
        if isinstance(value, Buffer):
            return self.buffer(value)
        return tuple(map(self.bound, value)) if isinstance(value, tuple) else value


def _widened(e: Expr) -> Expr | None:
    if isinstance(e, Const):
        return Const(float(e.value), f64) if e.dtype.is_float else None
    dt = wide(e.dtype)
    if isinstance(e, Cast) and e.a.dtype is dt:
        return e.a
    return dataclasses.replace(e, dtype=dt) if dt is not e.dtype else None  # type: ignore[type-var]  # every node is a dataclass
