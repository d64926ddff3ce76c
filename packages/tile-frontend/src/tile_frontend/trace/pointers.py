"""Parameters whose shape is said in the body: a tensor comes in, and what the body says of it is
checked at every launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.tensors import TensorType
from tile_ir import build
from tile_ir.core import Buffer, Param
from tile_ir.diag import TileError
from tile_ir.expr import Var, free_vars
from tile_ir.ops import Assert
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.types import DType

__all__ = ["Pointer", "PointerType"]


@dataclass(frozen=True, slots=True)
class PointerType:
    """Annotation of a parameter that `T.make_tensor` gives a shape: `a: T.ptr`, or
    `a: T.ptr(T.float16)` with the type of its elements.

    It takes a tensor. Tables of addresses have no meaning here.

    Raises `TileError` E1505 for another storage scope than global.
    Example: `T.ptr(T.float16)`
    """

    dtype: DType | None = None

    def __call__(
        self, dtype: object = None, storage_scope: str = "global", *, is_size_var: bool = False
    ) -> PointerType:
        """The annotation with a type of elements."""
        if storage_scope != "global":
            raise TileError(
                "E1505",
                f"T.ptr has the storage scope {storage_scope!r}",
                help="leave it out; on-chip buffers come from T.alloc_shared and its like",
            )
        return PointerType(None if dtype is None else ir_dtype(dtype))


class Pointer:
    """Such a parameter in the body. It is no number, and has no elements before `tensor`."""

    __slots__ = ("kind", "made", "name", "span")

    def __init__(self, b: Builder, name: str, kind: PointerType, span: Span | None) -> None:
        self.name, self.kind, self.span = name, kind, span
        self.made: BufferRef | None = None
        b.pointers[name] = span
        # Its place among the parameters; the shape follows.
        placeholder = Buffer(name=name, dtype=kind.dtype or i32, shape=(), scope="global")
        b.add_param(name, Param(buffer=placeholder))

    def tensor(self, b: Builder, shape: tuple[Expr, ...], dtype: DType) -> BufferRef:
        """The tensor that it is.

        Extents over scalar parameters are compared with the argument's when the kernel is launched.
        """
        if self.kind.dtype is not None and self.kind.dtype is not dtype:
            raise TileError(
                "E1516",
                f"{self.name} points to {self.kind.dtype}, and a tensor of {dtype} is made of it",
                help="use one type, or T.ptr without a type",
            )
        scalars = {p.name for p in b.params.values() if p.scalar is not None}
        axes: list[Expr] = []
        for n, extent in enumerate(shape):
            if any(v.name in scalars for v in free_vars(extent)):
                axes.append(self._measured(b, n, extent))
            else:
                axes.append(extent)
        made = TensorType(tuple(axes), dtype).buffer(self.name, self.span)
        b.add_param(self.name, Param(buffer=made))
        del b.pointers[self.name]
        self.made = BufferRef(made)
        return self.made

    def _measured(self, b: Builder, axis: int, extent: Expr) -> Var:
        """The argument's own extent, which has to be the one that the body says."""
        own = Var(b.fresh(f"{self.name}_{axis}"), extent.dtype)
        text = f"axis {axis} of {self.name} has the extent {extent}"
        b.scopes[0].stmts.append(Assert(cond=build.eq(own, extent), message=text, span=b.span))
        return own

    def _no_value(self, *others: object) -> NoReturn:
        raise TileError(
            "E1505",
            f"the pointer {self.name} is used as a value or indexed",
            help="make a tensor of it: A = T.make_tensor(pointer, (M, N), T.float16)",
        )

    __getitem__ = __setitem__ = __len__ = __iter__ = __bool__ = __int__ = __index__ = _no_value
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __neg__ = _no_value
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rshift__ = _no_value
    __hash__ = None  # type: ignore[assignment]  # its equality is refused

    def __repr__(self) -> str:
        return f"the pointer {self.name}"
