"""Buffers on the chip, mutable scalars, and workspaces in global memory.

Their contents start undefined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, VarRef
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.tensors import shape_of
from tile_frontend.trace.values import static_int
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_ir.expr import Expr

__all__ = [
    "alloc_buffer",
    "alloc_fragment",
    "alloc_global",
    "alloc_local",
    "alloc_shared",
    "alloc_var",
]

_SCOPES = {
    "global": "global",
    "shared": "shared",
    "shared.dyn": "shared",
    "fragment": "fragment",
    "local.fragment": "fragment",
    "local": "local",
    "local.var": "var",
}


def _scope(given: str, allowed: tuple[str, ...], what: str) -> str:
    found = _SCOPES.get(given)
    if found not in allowed:
        raise TileError(
            "E1305",
            f"{what} does not make buffers of scope {given!r}",
            help=f"its scopes are {', '.join(k for k, v in _SCOPES.items() if v in allowed)}",
        )
    return found


def _static_shape(shape: Any, what: str) -> tuple[Expr, ...]:
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    out = []
    for item in items:
        extent = static_int(item)
        if extent is None or extent < 1:
            raise TileError(
                "E1305",
                f"{what} has an extent {item!r}",
                notes=("on-chip buffers have a fixed size, known when the kernel is compiled",),
                help="use a positive int: a Python argument or a T.const dimension, not a "
                "T.dynamic one",
            )
        out.append(build.const(extent, "i32"))
    return tuple(out)


def _on_chip(shape: Any, dtype: Any, scope: str, what: str) -> BufferRef:
    b = state.builder(what)
    if b.inside("kernel") is None:
        raise TileError(
            "E1304",
            f"{what} stands outside T.Kernel",
            notes=("an on-chip buffer belongs to a block of a kernel",),
            help="move it under `with T.Kernel(...)`",
        )
    if b.inside("parallel") is not None:
        raise TileError("E1306", f"{what} stands inside T.Parallel", help="make it before the loop")
    extents = _static_shape(shape, what)
    element = ir_dtype(dtype)
    name = b.fresh(b.hint(scope))
    return BufferRef(
        b.alloc(Buffer(name=name, dtype=element, shape=extents, scope=scope, span=b.span))
    )


def alloc_shared(shape: Any, dtype: Any, scope: str = "shared.dyn") -> BufferRef:
    """A tile shared by the threads of a block.

    Args:
        shape: positive ints.
        dtype: element type in any spelling.

    Raises `TileError` E1304 outside a kernel, E1305 for a shape that is not constant.
    Example: `T.alloc_shared((64, 32), T.float16)`
    """
    return _on_chip(shape, dtype, _scope(scope, ("shared",), "T.alloc_shared"), "T.alloc_shared")


def alloc_fragment(shape: Any, dtype: Any, scope: str = "local.fragment") -> BufferRef:
    """A tile spread over the registers of a block; who holds which element is inferred.

    Raises `TileError` E1304 outside a kernel, E1305 for a shape that is not constant.
    Example: `T.alloc_fragment((64, 64), T.float32)`
    """
    scope = _scope(scope, ("fragment",), "T.alloc_fragment")
    return _on_chip(shape, dtype, scope, "T.alloc_fragment")


def alloc_local(shape: Any, dtype: Any, scope: str = "local") -> BufferRef:
    """An array of each thread's own. A T.Parallel variable may not index it.

    Raises `TileError` E1304 outside a kernel, E1305 for a shape that is not constant.
    Example: `T.alloc_local((8,), T.float32)`
    """
    return _on_chip(shape, dtype, _scope(scope, ("local",), "T.alloc_local"), "T.alloc_local")


def alloc_var(dtype: Any, *args: Any, init: Any = None, scope: str = "local.var") -> Any:
    """A mutable scalar: assigning to its name stores, reading its name loads.

    `T.alloc_var(dtype)`, `T.alloc_var(dtype, init)`, `T.alloc_var(dtype, init=0)`. Undefined
    without `init`.

    Raises `TileError` E1304 outside a kernel.
    Example: `T.alloc_var(T.int32, init=0)`
    """
    for extra in args:
        if isinstance(extra, str) and extra in _SCOPES:
            scope = extra
        else:
            init = extra
    b = state.builder("T.alloc_var")
    _scope(scope, ("var",), "T.alloc_var")
    if b.inside("kernel") is None:
        raise TileError(
            "E1304",
            "T.alloc_var stands outside T.Kernel",
            help="move it under `with T.Kernel(...)`",
        )
    name = b.fresh(b.hint("var"))
    made = b.alloc(Buffer(name=name, dtype=ir_dtype(dtype), shape=(), scope="var", span=b.span))
    if init is not None:
        b.store(made, (), init)
    return VarRef(made)


def alloc_global(shape: Any, dtype: Any, scope: str = "global") -> BufferRef:
    """A workspace in global memory for the time of the call, shared by all kernels of the function.

    Raises `TileError` E1107 for a bad extent; `T.dynamic` extents are allowed.
    Example: `T.alloc_global((64, 64), T.float32)`
    """
    _scope(scope, ("global",), "T.alloc_global")
    b = state.builder("T.alloc_global")
    name = b.fresh(b.hint("workspace"))
    made = Buffer(
        name=name,
        dtype=ir_dtype(dtype),
        shape=shape_of(shape, "T.alloc_global"),
        scope="global",
        span=b.span,
    )
    return BufferRef(b.alloc_global(made))


def alloc_buffer(shape: Any, dtype: Any = "float32", scope: str = "global", **rest: Any) -> Any:
    """A buffer of any scope, named as in "global", "shared", "local.fragment", "local".

    Raises `TileError` E1305 for an unknown scope, E1503 for further options.
    Example: `T.alloc_buffer((64,), "float32", scope="shared")`
    """
    if rest:
        raise TileError(
            "E1503",
            f"T.alloc_buffer does not take {', '.join(rest)} here",
            help="give shape, dtype and scope only",
        )
    kind = _scope(scope, tuple(_SCOPES.values()), "T.alloc_buffer")
    if kind == "global":
        return alloc_global(shape, dtype)
    if kind == "var":
        return alloc_var(dtype)
    return _on_chip(shape, dtype, kind, "T.alloc_buffer")
