"""What a kernel says to its user while it runs, and what the user tells the compiler."""

from __future__ import annotations

from typing import Any

from tile_frontend.trace import state
from tile_frontend.trace.buffers import BufferRef, RegionRef, VarRef
from tile_frontend.trace.logic import truth
from tile_frontend.trace.loops import CountedLoop
from tile_frontend.trace.operands import Tile, box, static_extents
from tile_frontend.trace.values import Value, expr_of
from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.diag import TileError
from tile_ir.expr import Const
from tile_ir.ops import Assert, Assume, Print
from tile_ir.types import bool_

__all__ = ["all_of", "any_of", "assume", "device_assert", "evaluate", "print"]


def print(obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:
    """Print a message and a value (a scalar, or a whole buffer or region) when the kernel gets
    there.

    `warp_group_id` and `warp_id` are without effect.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.print(x, msg="x is")`
    """
    b = state.builder("T.print")
    if b.inside("kernel") is None:
        b.need_kernel("T.print")
    if isinstance(obj, str):
        obj, msg = None, obj
    if obj is None:
        values: tuple[Any, ...] = ()
    elif isinstance(obj, (BufferRef, RegionRef)):
        values = (box(obj, "T.print").region,)
    else:
        values = (expr_of(obj),)
    b.emit(Print(message=str(msg), values=values, span=b.span))


def device_assert(cond: Any, msg: str = "") -> None:
    """Stop the launch with `msg` where the condition fails.

    Raises `TileError` E1207 for what is no scalar.
    Example: `T.device_assert(x < 1.0, "x is small")`
    """
    b = state.builder("T.device_assert")
    b.emit(Assert(cond=truth(cond), message=str(msg), span=b.span))


def assume(cond: Any) -> None:
    """State a fact about integers for the compiler's prover. Wrong facts give wrong code.

    Raises `TileError` E1213 for a condition that is false whatever happens.
    Example: `T.assume(I[0, 0] >= 0)`
    """
    fact = truth(cond)
    if isinstance(fact, Const) and not fact.value:
        raise TileError(
            "E1213",
            "T.assume states something that is never true",
            help="state what holds whenever the kernel runs, such as n > 0",
        )
    if not isinstance(fact, Const):
        b = state.builder("T.assume")
        b.emit(Assume(cond=fact, span=b.span))


def evaluate(value: Any) -> None:
    """Evaluate an expression for its effects; without any it leaves nothing behind.

    Raises `TileError` E1207 for what is no scalar.
    Example: `T.evaluate(x + 1.0)`
    """
    expr_of(value)


def _quantified(x: Any, op: str, what: str) -> Value:
    b = state.builder(what)
    b.need_kernel(what)
    operand = box(x, what)
    static_extents(operand, what)
    found = Buffer(name=b.fresh("found"), dtype=bool_, shape=(), scope="var", span=b.span)
    var = VarRef(b.alloc(found))
    b.store(found, (), op == "land")
    loops = [CountedLoop(what, build.const(0, "i32"), extent) for extent in operand.extents or ()]
    at = [loop.begin(b).expr for loop in loops]
    element = _element(operand, at)
    b.store(found, (), Value(build.binary(op, var.expr, truth(element))))
    for loop in reversed(loops):
        loop.end(b)
    return b.let("found", var.expr)


def _element(operand: Tile, at: list[Any]) -> Value:
    indices = [build.add(s, i) for s, i in zip(operand.starts, at, strict=True)]
    return Value(build.load(operand.buffer, indices))


def any_of(buffer: Any) -> Value:
    """Whether any element of a buffer or region of constant extents is not zero.

    Raises `TileError` E1205 for extents known at run time only.
    Example: `T.any_of(I)`
    """
    return _quantified(buffer, "lor", "T.any_of")


def all_of(buffer: Any) -> Value:
    """Whether all elements of a buffer or region of constant extents are not zero.

    Raises `TileError` E1205 for extents known at run time only.
    Example: `T.all_of(I)`
    """
    return _quantified(buffer, "land", "T.all_of")
