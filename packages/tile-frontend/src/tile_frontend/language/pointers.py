"""Tensors whose shape is said in the body, as programs for other compilers make them of pointers.

No address comes in: the argument is a tensor, which knows its extent, and has the shape and the
type that the body says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.pointers import Pointer, PointerType
from tile_frontend.trace.tensors import shape_of
from tile_ir import build
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_ir.expr import Expr

__all__ = ["make_tensor", "make_tensor_from_addr", "ptr"]


ptr = PointerType()


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> BufferRef:
    """The tensor that a parameter of `T.ptr` is: of this shape and type, in row-major order.

    A launch checks it: the argument is a tensor of that type and those extents. Extents may be
    numbers, dimensions of `T.dynamic`, scalar parameters, or sums and products of them. Of a tensor
    it makes a `T.view`.

    Raises `TileError` E1505 for an address, of which nobody knows what lies there; E1516 for
    strides of another order or another type than the pointer's; E1413 for a second shape of another
    size.
    Example: `T.make_tensor(A, (32, 128), "float32")`
    """
    return _made(ptr, shape, dtype, strides, "T.make_tensor")


def make_tensor_from_addr(
    addr: Any,
    shape: Any,
    dtype: Any = "float32",
    strides: Any = None,
    storage_scope: str = "global",
) -> BufferRef:
    """`T.make_tensor`.

    Raises `TileError` as `T.make_tensor` does.
    Example: `T.make_tensor_from_addr(A, (32, 128), "float32")`
    """
    return _made(addr, shape, dtype, strides, "T.make_tensor_from_addr")


def _made(pointer: Any, shape: Any, dtype: Any, strides: Any, what: str) -> BufferRef:
    b, kind = state.builder(what), ir_dtype(dtype)
    extents = shape_of(shape, what)
    if strides is not None:
        _check_strides(shape_of(strides, what), extents, what)
    if isinstance(pointer, Pointer) and pointer.made is None:
        return pointer.tensor(b, extents, kind)
    base = pointer.made if isinstance(pointer, Pointer) else pointer
    if not isinstance(base, BufferRef):
        _refuse(pointer, what)
    same = len(base.buffer.shape) == len(extents) and all(
        x is y for x, y in zip(base.buffer.shape, extents, strict=True)
    )
    if same and base.buffer.dtype is kind:
        return base
    from tile_frontend.language.tile_ops import view  # it imports what imports this module

    return view(base, shape, dtype)


def _refuse(pointer: Any, what: str) -> NoReturn:
    raise TileError(
        "E1505",
        f"{what} is given {pointer!r}, and of an address nobody knows what lies there",
        help="pass a tensor for a parameter of T.ptr. A table of tensors is one tensor: stack "
        "equal ones along an axis, and lay those of other lengths behind each other with a tensor "
        "of offsets",
    )


def _check_strides(strides: tuple[Expr, ...], extents: tuple[Expr, ...], what: str) -> None:
    step: Expr = build.const(1)
    rows: list[Expr] = []
    for extent in reversed(extents):
        rows.insert(0, step)
        step = build.mul(step, extent)
    if len(strides) != len(rows) or any(x is not y for x, y in zip(strides, rows, strict=True)):
        raise TileError(
            "E1516",
            f"{what} has strides that are not those of rows behind each other",
            help="leave strides out, or declare the parameter as a T.StridedTensor",
        )
