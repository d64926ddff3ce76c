"""What functions of threads and warps share: the thread's number, scalars handed to exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tile_frontend.trace import state
from tile_frontend.trace.values import Value, expr_of, static_int
from tile_ir import build
from tile_ir.core import Buffer, Region
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder, Scope
    from tile_ir.expr import Expr

__all__ = ["all_of", "bad", "check_mask", "kept", "kernel_of", "operand", "thread_of", "truth"]


def bad(message: str, fix: str) -> NoReturn:
    """Raise E1522."""
    raise TileError("E1522", message, help=fix)


def kernel_of(what: str) -> tuple[Builder, Scope]:
    """The builder and the kernel around."""
    b = state.builder(what)
    b.need_kernel(what)
    scope = b.inside("kernel")
    assert scope is not None  # as was just asked
    return b, scope


def thread_of(what: str) -> Expr:
    """The number of the thread."""
    b, _ = kernel_of(what)
    b.names_threads = True
    return build.call("thread_index")


def kept(stem: str, value: Expr, idle: Any, b: Builder) -> Buffer:
    """A scalar of every thread that an exchange reads; those that do not take part have `idle`."""
    made = Buffer(name=b.fresh(stem), dtype=value.dtype, shape=(), scope="var", span=b.span)
    b.idle[made.name] = build.const(idle, value.dtype)
    b.alloc(made)
    b.store(made, (), Value(value))
    return made


def operand(value: Any, what: str) -> Expr:
    """A scalar that is handed over."""
    e = expr_of(value)
    if e.dtype.lanes > 1:
        bad(f"{what} exchanges a {e.dtype}", "exchange the elements of a vector one by one")
    return e


def all_of(x: Buffer) -> Region:
    """A scalar of every thread as an operand."""
    return Region(x.name, ())


def check_mask(mask: Any, what: str) -> None:
    """Exchanges are among all lanes that come; a mask says so, or narrows it on purpose."""
    if mask is not None and static_int(mask) is None:
        bad(f"{what} has the mask {mask!r}", "a mask is an int known while tracing, or left out")


def truth(pred: Any, what: str) -> Expr:
    """Whether a value is true, that is not 0."""
    e = operand(pred, what)
    return e if e.dtype.is_bool else build.ne(e, build.const(0, e.dtype))
