"""Tensor declarations: what a parameter's annotation says, and the buffer it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_frontend.trace.element_types import ElementType, ir_dtype
from tile_frontend.trace.places import here
from tile_frontend.trace.values import Value, expr_of
from tile_ir.core import Buffer
from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from tile_ir.expr import Expr
    from tile_ir.types import DType


@dataclass(frozen=True, slots=True)
class TensorType:
    """A global tensor's declared shape, element type and strides (None: row-major)."""

    shape: tuple[Expr, ...]
    dtype: DType
    strides: tuple[Expr, ...] | None = None
    scope: str = "global"

    def buffer(self, name: str, span: Span | None) -> Buffer:
        """The buffer of that name."""
        return Buffer(
            name=name,
            dtype=self.dtype,
            shape=self.shape,
            scope=self.scope,
            strides=self.strides,
            span=span,
        )


def shape_of(shape: Any, what: str) -> tuple[Expr, ...]:
    """A shape as expressions; one number is a shape of one axis.

    Raises `TileError` E1107 for an entry that is no integer or is negative.
    """
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    out = []
    for item in items:
        expr = (
            expr_of(item) if isinstance(item, (int, Value)) or hasattr(item, "__index__") else None
        )
        negative = isinstance(item, int) and item < 0
        if expr is None or not expr.dtype.is_int or negative:
            raise TileError(
                "E1107",
                f"{what} has an extent {item!r}",
                here(),
                help="extents are non-negative ints, T.const or T.dynamic dimensions, or sums and "
                "products of them",
            )
        out.append(expr)
    return tuple(out)


def scalar_type(annotation: Any) -> DType | None:
    """The type of a scalar parameter that `annotation` asks for, or None when it asks for no
    scalar.
    """
    if isinstance(annotation, ElementType) or annotation in (int, float, bool):
        return ir_dtype(annotation)
    if isinstance(annotation, str):
        try:
            return ir_dtype(annotation)
        except TileError:
            return None
    return None
