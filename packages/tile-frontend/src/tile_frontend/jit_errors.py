"""The errors of putting `@tile.jit` on something, and of compiling what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_frontend.trace.places import here
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_ir.core import Function

__all__ = ["no_function", "too_deep"]


def no_function(given: object) -> TileError:
    """`@tile.jit` on what is no function: an option without its name, or what is under it."""
    inner = getattr(given, "fn", None)
    if inner is not None:
        what, instead = f"{inner.__name__}, which is under it already", "pass its function, f.fn"
    else:
        what = repr(given)
        instead = 'put it on a function; its options have names: @tile.jit(target="cpu")'
    why = ("a kernel is a function, whose source is read",)
    return TileError("E1114", f"@tile.jit stands on {what}", here(), notes=why, help=instead)


def too_deep(function: Function) -> TileError:
    """An expression beyond what Python's recursion follows."""
    return TileError(
        "E0015",
        f"an expression of {function.name} is nested too deeply",
        function.span,
        notes=("a loop over numbers of Python makes one long expression of what it adds up",),
        help="sum in the kernel: T.reduce_sum, or T.serial with a T.alloc_var",
    )
