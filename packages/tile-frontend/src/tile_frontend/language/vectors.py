"""Vectors of a few lanes: lanes taken out and put together, and arithmetic on pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from tile_frontend.trace.values import Value, expr_of, static_int
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Broadcast, Expr, Ramp, Var, walk
from tile_ir.types import dtype, i32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.types import DType

__all__ = [
    "Shuffle",
    "abs2",
    "add2",
    "extract_lane",
    "fma2",
    "max2",
    "min2",
    "mul2",
    "sub2",
]


class Lanes(Value):
    """A vector whose lanes are known one by one."""

    __slots__ = ("lanes",)

    def __init__(self, lanes: Sequence[Expr]) -> None:
        super().__init__(_joined(lanes))
        self.lanes = tuple(lanes)


def _joined(lanes: Sequence[Expr]) -> Expr:
    """A vector of these lanes: the last one everywhere, then each of the others in its place."""
    count = len(lanes)
    numbers = build.ramp(build.const(0, i32), 1, count)
    made = build.broadcast(lanes[-1], count)
    for n in reversed(range(count - 1)):
        here = build.eq(numbers, build.broadcast(build.const(n, i32), count))
        made = build.select(here, build.broadcast(lanes[n], count), made)
    return made


def lanes_of(x: Any) -> list[Expr]:
    """The lanes of a vector, one of a scalar."""
    if isinstance(x, Lanes):
        return list(x.lanes)
    e = expr_of(x)
    return [e] if e.dtype.lanes == 1 else [_lane(e, n) for n in range(e.dtype.lanes)]


def _lane(e: Expr, n: int) -> Expr:
    if any(isinstance(part, Var) and part.dtype.lanes > 1 for part in walk(e)):
        return _selected(e, build.const(n, i32))
    return _pushed(e, n)


def _pushed(e: Expr, n: int) -> Expr:
    """Lane `n` of an expression, by asking its operands for theirs."""
    if e.dtype.lanes == 1:
        return e
    if isinstance(e, Ramp):
        return build.add(e.base, n * e.stride)
    if isinstance(e, Broadcast):
        return e.a
    made: Any = e.with_children(tuple(_pushed(c, n) for c in e.children()))
    one: Expr = replace(made, dtype=e.dtype.with_lanes(1))
    return one


def _selected(e: Expr, n: Expr) -> Expr:
    """Lane `n` of a vector: every other lane is made to lose, then one is left."""
    count, scalar = e.dtype.lanes, e.dtype.scalar
    numbers = build.ramp(build.const(0, i32), 1, count)
    here = build.eq(numbers, build.broadcast(build.cast(n, i32), count))
    least = build.cast(build.const(float("-inf"), "f64"), scalar)
    other = least if scalar.is_float else build.const(0, scalar)
    alone = build.select(here, e, build.broadcast(other, count))
    return build.call("max_lanes" if scalar.is_float else "or_lanes", [alone])


def bits_as(lanes: Sequence[Expr], scalar: DType) -> list[Expr]:
    """The bits of lanes of 8 to 64 bits, the first the lowest, as lanes of another such type."""
    have, want = lanes[0].dtype.storage_bits, scalar.storage_bits
    codes = [build.bitcast(lane, dtype(f"u{have}")) for lane in lanes]
    code = dtype(f"u{want}")
    if have < want:
        each = want // have
        wide = [
            _shifted("shl", build.cast(c, code), have * (n % each)) for n, c in enumerate(codes)
        ]
        codes = [reduce(build.bit_or, wide[n : n + each]) for n in range(0, len(wide), each)]
    elif have > want:
        starts = range(0, have, want)
        codes = [build.cast(_shifted("shr", c, down), code) for c in codes for down in starts]
    return [build.bitcast(c, scalar) for c in codes]


def _shifted(op: str, e: Expr, by: int) -> Expr:
    return build.binary(op, e, build.const(by, e.dtype)) if by else e


def _bad(message: str, fix: str) -> TileError:
    return TileError("E1421", message, help=fix)


def extract_lane(vec: Any, lane: Any) -> Value:
    """Lane `lane` of a vector, counted from 0; an int or an integer of the kernel.

    Raises `TileError` E1421 for a lane that the vector does not have.
    Example: `T.extract_lane(A[0, T.Ramp(0, 1, 4)], 2)`
    """
    count = expr_of(vec).dtype.lanes
    number = static_int(lane)
    if number is None and count > 1:
        return Value(_selected(expr_of(vec), expr_of(lane)))
    if number is None or not 0 <= number < count:
        raise _bad(
            f"T.extract_lane asks for lane {lane!r} of a vector of {count}",
            f"lanes are counted from 0 to {count - 1}",
        )
    return Value(lanes_of(vec)[number])


def Shuffle(vectors: Sequence[Any], indices: Sequence[Any]) -> Value:
    """The lanes `indices` of all `vectors` one behind the other: a scalar for one index, else a
    vector.

    Raises `TileError` E1421 for an index that no lane has, or vectors of different types.
    Example: `T.Shuffle([A[0, T.Ramp(0, 1, 2)], A[1, T.Ramp(0, 1, 2)]], [3, 0])`
    """
    lanes = [lane for v in vectors for lane in lanes_of(v)]
    if len({lane.dtype for lane in lanes}) != 1:
        raise _bad("T.Shuffle takes vectors of different types", "convert them with T.cast first")
    numbers = [static_int(i) for i in indices]
    if not numbers or any(n is None or not 0 <= n < len(lanes) for n in numbers):
        raise _bad(
            f"T.Shuffle has indices {list(indices)!r}",
            f"the lanes of all vectors are counted from 0 to {len(lanes) - 1}",
        )
    chosen = [lanes[n] for n in numbers if n is not None]
    return Value(chosen[0]) if len(chosen) == 1 else Lanes(chosen)


def _pairs(what: str, values: Sequence[Any]) -> list[Expr]:
    exprs = [expr_of(v) for v in values]
    if any(e.dtype.lanes != 2 for e in exprs):
        raise _bad(
            f"{what} takes vectors of two lanes, not {', '.join(str(e.dtype) for e in exprs)}",
            "read a pair by A[..., T.Ramp(j, 1, 2)], or make one by T.Broadcast(x, 2)",
        )
    return exprs


def _on_pairs(name: str, op: str, meaning: str) -> Callable[[Any, Any], Value]:
    def function(x: Any, y: Any) -> Value:
        a, b = _pairs(f"T.{name}", (x, y))
        return Value(build.binary(op, a, b))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{meaning} of two pairs, lane by lane.

    Takes vectors of two lanes.

    Raises `TileError` E1421 for other vectors.
    Example: `T.{name}(A[0, T.Ramp(0, 1, 2)], T.Broadcast(x, 2))`
    """
    return function


add2 = _on_pairs("add2", "add", "The sum")
sub2 = _on_pairs("sub2", "sub", "The difference")
mul2 = _on_pairs("mul2", "mul", "The product")
max2 = _on_pairs("max2", "max", "The maximum (a NaN wins)")
min2 = _on_pairs("min2", "min", "The minimum (a NaN wins)")


def fma2(x: Any, y: Any, z: Any) -> Value:
    """x * y + z of pairs, lane by lane, each rounded once.

    Raises `TileError` E1421 for vectors of other than two lanes.
    Example: `T.fma2(A[0, T.Ramp(0, 1, 2)], A[1, T.Ramp(0, 1, 2)], T.Broadcast(x, 2))`
    """
    return Value(build.call("fma", _pairs("T.fma2", (x, y, z))))


def abs2(x: Any) -> Value:
    """The absolute values of a pair.

    Raises `TileError` E1421 for vectors of other than two lanes.
    Example: `T.abs2(A[0, T.Ramp(0, 1, 2)])`
    """
    return Value(build.abs_(_pairs("T.abs2", (x,))[0]))
