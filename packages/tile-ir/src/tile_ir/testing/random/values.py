"""Values of random programs, each with a bound on its magnitude and on how far implementations may
differ.

Differences come from what the numerics contract leaves open: contraction to fused operations, order
of summation, the last bits of elementary functions. A value that nobody may compute differently has
error 0; only such values decide branches, comparisons and conversions to integers, where a last bit
would become a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build, types

if TYPE_CHECKING:
    from random import Random

    from tile_ir.expr import Expr
    from tile_ir.types import DType

LIMIT = 64.0
"""Magnitudes stay below this, so that no 8-bit float saturates by accident and no f16 sum
overflows.
"""

MAX_ERROR = 0.05
"""Values that may differ by more are not computed with any further."""

FLOATS = (types.f16, types.bf16, types.f32, types.f32, types.f64)
SMALL_FLOATS = (types.f8e4m3fn, types.f8e5m2)
INTS = (
    types.i8,
    types.i16,
    types.i32,
    types.i32,
    types.i64,
    types.u8,
    types.u16,
    types.u32,
    types.u64,
)
STORAGE = (
    types.i4,
    types.u4,
    types.f4e2m1fn,
    types.f6e2m3fn,
    types.f6e3m2fn,
    types.f8e3m4,
    types.f8e4m3fnuz,
    types.f8e5m2fnuz,
    types.f8e8m0fnu,
)
"""Types that programs read from global memory only: several elements of some share a byte."""
ALL = (*FLOATS, *FLOATS, *INTS, *SMALL_FLOATS, types.bool_)


@dataclass(frozen=True, slots=True)
class Value:
    """An expression with |x| <= `size` and, between implementations, |x - x'| <= `error`. Integers
    have size 0.
    """

    expr: Expr
    size: float = 0.0
    error: float = 0.0

    @property
    def dtype(self) -> DType:
        """The type of the expression."""
        return self.expr.dtype

    @property
    def exact(self) -> bool:
        """Whether every implementation gives this very value."""
        return self.error == 0.0


def constant(rng: Random, dt: DType) -> Value:
    """A literal of `dt`, exactly representable in every type."""
    if dt.is_bool:
        return Value(build.const(rng.random() < 0.5))
    if dt.is_float:
        number = rng.choice((-2.0, -1.5, -1.0, -0.5, 0.25, 0.5, 1.0, 1.75, 3.0))
        return Value(build.const(number, dt), abs(number))
    low, high = max(int(dt.min_value), -7), min(int(dt.max_value), 7)
    return Value(build.const(rng.randint(low, high), dt))


def converted(v: Value, dt: DType) -> Value | None:
    """The value cast to `dt`, None where that would make a difference of a last bit into a large
    one.
    """
    if v.dtype is dt:
        return v
    expr = build.cast(v.expr, dt)
    if not v.dtype.is_float:
        return _from_integer(v, expr, dt)
    if not dt.is_float:
        return Value(expr) if v.exact else None
    # A value that is not exact may round to either neighbour; one that is, rounds the same
    # everywhere.
    error = v.error + dt.eps * v.size if v.error else 0.0
    return bounded(Value(expr, v.size * (1 + dt.eps), error))


def _from_integer(v: Value, expr: Expr, dt: DType) -> Value:
    if not dt.is_float:
        return Value(expr)
    # Integers are of any size, so the float is brought into range; what it was is exact.
    clamped = build.minimum(build.maximum(expr, build.const(-8.0, dt)), build.const(8.0, dt))
    return Value(clamped, 8.0)


def bounded(v: Value) -> Value | None:
    """The value clamped to the limit where it could exceed it, None where implementations differ
    too much.
    """
    if v.error > MAX_ERROR * max(1.0, min(v.size, LIMIT)):
        return None
    if v.size <= LIMIT:
        return v
    dt = v.dtype
    low, high = build.const(-8.0, dt), build.const(8.0, dt)
    return Value(build.minimum(build.maximum(v.expr, low), high), 8.0, v.error)


Rule = Callable[[Value, Value], "Value | None"]


def _rounded(expr: Expr, size: float, error: float) -> Value | None:
    """The result of one operation, which an implementation may also do in a wider type."""
    return bounded(Value(expr, size, error + expr.dtype.eps * size))


def _add(a: Value, b: Value) -> Value | None:
    return _rounded(build.add(a.expr, b.expr), a.size + b.size, a.error + b.error)


def _sub(a: Value, b: Value) -> Value | None:
    return _rounded(build.sub(a.expr, b.expr), a.size + b.size, a.error + b.error)


def _mul(a: Value, b: Value) -> Value | None:
    error = a.error * b.size + b.error * a.size + a.error * b.error
    return _rounded(build.mul(a.expr, b.expr), a.size * b.size, error)


def _div(a: Value, b: Value) -> Value | None:
    # Denominators are at least 1, so the quotient's derivative by them is at most |a|.
    below = build.add(build.abs_(b.expr), build.const(1.0, b.dtype))
    error = a.error + a.size * (b.error + b.dtype.eps * (b.size + 1))
    return _rounded(build.div(a.expr, below), a.size, error)


def _min(a: Value, b: Value) -> Value | None:
    return Value(build.minimum(a.expr, b.expr), max(a.size, b.size), max(a.error, b.error))


def _max(a: Value, b: Value) -> Value | None:
    return Value(build.maximum(a.expr, b.expr), max(a.size, b.size), max(a.error, b.error))


FLOAT_BINARY: tuple[Rule, ...] = (_add, _sub, _mul, _mul, _div, _min, _max)


@dataclass(frozen=True, slots=True)
class Smooth:
    """A function made safe: what it is applied to, its bound, and how much it magnifies errors."""

    name: str
    prepare: Callable[[Expr], Expr]
    size: float
    slope: float
    own_error: float = 4.0
    """Error of an implementation's own, in units of eps of f32 or of the type if that is wider."""


def _itself(x: Expr) -> Expr:
    return x


def _at_most(limit: float) -> Callable[[Expr], Expr]:
    return lambda x: build.minimum(x, build.const(limit, x.dtype))


def _positive(offset: float) -> Callable[[Expr], Expr]:
    return lambda x: build.add(build.abs_(x), build.const(offset, x.dtype))


SMOOTH = (
    Smooth("exp2", _at_most(3.0), 8.0, 6.0),
    Smooth("exp", _at_most(2.0), 8.0, 8.0),
    Smooth("sin", _itself, 1.0, 1.0, 64.0),
    Smooth("cos", _itself, 1.0, 1.0, 64.0),
    Smooth("tanh", _itself, 1.0, 1.0),
    Smooth("erf", _itself, 1.0, 1.2),
    Smooth("atan", _itself, 1.6, 1.0),
    Smooth("sqrt", _positive(0.25), 9.0, 1.0),
    Smooth("rsqrt", _positive(0.5), 1.5, 1.5),
    Smooth("log", _positive(0.5), 5.0, 2.0),
    Smooth("log2", _positive(0.5), 7.0, 3.0),
    Smooth("log1p", _positive(0.0), 5.0, 1.0),
    Smooth("fast_exp", _at_most(2.0), 8.0, 8.0, 4096.0),
)
STEPPED = ("floor", "ceil", "round", "trunc")
"""Functions with jumps: of exact values only."""


def apply_smooth(rng: Random, a: Value) -> Value | None:
    """A random smooth function of a float."""
    f = rng.choice(SMOOTH)
    x = f.prepare(a.expr)
    prepared = a.error if x is a.expr else a.error + a.dtype.eps * (a.size + 1)
    own = f.own_error * max(types.f32.eps, a.dtype.eps / 4) * f.size
    return _rounded(build.call(f.name, [x]), f.size, prepared * f.slope + own)


def apply_stepped(rng: Random, a: Value) -> Value | None:
    """A random function with jumps of a float, which must be exact."""
    if not a.exact:
        return None
    return Value(build.call(rng.choice(STEPPED), [a.expr]), a.size + 1.0)


_INT_TOTAL = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
_INT_DIVISION = ("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv")


def int_binary(rng: Random, a: Value, b: Value) -> Value:
    """A random operator of two integers of one type; divisors and shift counts are made valid."""
    kind = rng.random()
    if kind < 0.65:
        return Value(build.binary(rng.choice(_INT_TOTAL), a.expr, b.expr))
    dt = a.dtype
    if kind < 0.85:
        divisor = build.bit_or(b.expr, build.const(1, dt))
        return Value(build.binary(rng.choice(_INT_DIVISION), a.expr, divisor))
    count = build.bit_and(b.expr, build.const(dt.bits - 1, dt))
    return Value(build.binary(rng.choice(("shl", "shr")), a.expr, count))


def compared(rng: Random, a: Value, b: Value) -> Value | None:
    """A random comparison of two exact values of one type."""
    if not (a.exact and b.exact):
        return None
    return Value(build.binary(rng.choice(("lt", "le", "gt", "ge", "eq", "ne")), a.expr, b.expr))


def chosen(cond: Value, a: Value, b: Value) -> Value:
    """One of two values of one type, by an exact condition."""
    expr = build.select(cond.expr, a.expr, b.expr)
    return Value(expr, max(a.size, b.size), max(a.error, b.error))
