"""Bits of integers: the first one set, the n-th one set, and products of packed bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.places import element_at, neighbours
from tile_frontend.trace import state
from tile_frontend.trace.buffers import VarRef, store_element
from tile_frontend.trace.values import Value, expr_of
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.types import i32, u32

if TYPE_CHECKING:
    from tile_ir.expr import Expr

_NONE = 0xFFFFFFFF


def ffs(x: Any) -> Value:
    """The number of the lowest bit set, counted from 1; 0 where none is set. An int32.

    Raises `TileError` E0246 for a float.
    Example: `T.__ffs(I[0, 0])`
    """
    e = expr_of(x)
    if e.dtype.is_float:
        raise TileError("E0246", f"T.__ffs works on integers, not on {e.dtype}", help="cast it")
    one = build.const(1, e.dtype)
    below = build.bit_and(build.sub(e, one), build.bit_not(e))  # ones below the lowest bit set
    found = build.add(build.call("popcount", [below]), 1)
    return Value(build.select(build.eq(e, build.const(0, e.dtype)), build.const(0, i32), found))


def _nth(mask: Expr, n: Expr) -> Expr:
    """The place of the n-th bit set, from 1, where there are as many: halves are counted, and the
    one that holds it is gone into.
    """
    b = state.builder("T.__fns")
    place: Expr = build.const(0, u32)
    left = b.let("left", build.cast(n, u32)).expr
    rest = b.let("rest", mask).expr
    for width in (16, 8, 4, 2, 1):
        low = build.bit_and(rest, build.const((1 << width) - 1, u32))
        count = b.let("count", build.cast(build.call("popcount", [low]), u32)).expr
        above = build.lt(count, left)
        size = build.const(width, u32)
        place = build.add(place, build.select(above, size, build.const(0, u32)))
        rest = b.let("rest", build.select(above, build.shr(rest, size), rest)).expr
        left = b.let("left", build.select(above, build.sub(left, count), left)).expr
    return place


def fns(mask: Any, base: Any, offset: Any) -> Value:
    """The place of the n-th bit set in a uint32, from bit `base` on: upwards for a positive
    `offset` n, downwards for a negative one, `base` itself for 0. 0xffffffff where there is none.

    Args:
        mask: 32 bits. base: 0 to 31. offset: the first bit counts as 1 (or -1), `base` included.

    Raises `TileError` E0247 or E1207 for what is no integer.
    Example: `T.__fns(I[0, 0], 0, 2)`
    """
    b = state.builder("T.__fns")
    bits = b.let("mask", build.cast(expr_of(mask), u32)).expr
    start = b.let("base", build.cast(expr_of(base), u32)).expr
    steps = b.let("offset", build.cast(expr_of(offset), i32)).expr
    ones, zero = build.const(_NONE, u32), build.const(0, i32)
    up, down = build.gt(steps, zero), build.lt(steps, zero)
    above = build.shl(ones, start)
    below = build.shr(ones, build.sub(build.const(31, u32), start))
    only = build.shl(build.const(1, u32), start)
    window = build.select(up, above, build.select(down, below, only))
    seen = b.let("seen", build.bit_and(bits, window)).expr
    total = b.let("total", build.call("popcount", [seen])).expr
    # Counted from below, the n-th from above is number total - n + 1; a lone bit is the first.
    number = build.select(
        up, steps, build.select(down, build.add(build.add(total, steps), 1), build.const(1, i32))
    )
    number = b.let("number", number).expr
    exists = build.land(build.ge(number, 1), build.le(number, total))
    return Value(b.let("place", build.select(exists, _nth(seen, number), ones)).expr)


def dp4a(A: Any, B: Any, C: Any) -> None:
    """C += the product of four bytes and four bytes: A[0] * B[0] + ... + A[3] * B[3].

    Args:
        A, B: places of the first of four int8 (or uint8) along the last axis.
        C: an int32 element, place or `T.alloc_var`.

    Raises `TileError` E1403 for other types, E1405 for what is no place.
    Example: `V = T.view(S, (64, 256), T.int8); T.dp4a(V[0, 0], V[0, 4], I[0, 0])`
    """
    target = C if isinstance(C, VarRef) else element_at(C, "T.dp4a")
    left, right = element_at(A, "T.dp4a"), element_at(B, "T.dp4a")
    types = [p.ref.buffer.dtype for p in (left, right)]
    if any(not t.is_int or t.bits != 8 for t in types) or target.expr.dtype.bits != 32:
        raise TileError(
            "E1403",
            f"T.dp4a adds products of {types[0]} and {types[1]} to {target.expr.dtype}",
            help="it multiplies int8 or uint8 into int32; T.gemm multiplies tiles of any type",
        )
    total: Expr = target.expr
    for a, c in zip(neighbours(left, 4), neighbours(right, 4), strict=True):
        x, y = build.load(left.ref.buffer, a), build.load(right.ref.buffer, c)
        product = build.mul(build.cast(x, i32), build.cast(y, i32))
        total = build.add(total, build.cast(product, total.dtype))
    store_element(target, Value(total))


_NAMES = {"__ffs": ffs, "__fns": fns, "dp4a": dp4a}
globals().update(_NAMES)
__all__ = sorted(_NAMES)
