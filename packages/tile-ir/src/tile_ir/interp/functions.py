"""The value of every function of `tile_ir.functions`: computed in f64 and rounded once to the type
of the call.

That is at least as good as any target: the oracle gives the best value and a test its tolerance.
`fast_` names mean the exact function, which they merely allow a target to approximate.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import TileError
from tile_ir.interp.arith import double, narrow, round_to, widen
from tile_ir.numerics.array import to_numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.arith import Value
    from tile_ir.interp.storage import Array
    from tile_ir.types import DType

_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Array) -> Array:
    return np.asarray(_ERF(x), np.float64)


def _odd_sum(x: Array, y: Array) -> Array:
    """x + y rounded to odd, so that rounding again to a narrower type gives the correctly rounded
    sum.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
    rounding to odd", 2008.
    """
    total = np.asarray(x + y)
    part = total - x
    error = (x - (total - part)) + (y - part)
    even = (total.view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & (error != 0) & even
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, towards), total)


def _fma(x: Array, y: Array, z: Array) -> Array:
    # Exact for f32 and narrower: the product of two 24-bit significands fits a double.
    return _odd_sum(x * y, z)


def _fma64(x: Value, y: Value, z: Value) -> Array:
    def one(a: float, b: float, c: float) -> float:
        from fractions import Fraction  # only f64 needs exact rationals, and seldom

        if not all(map(math.isfinite, (a, b, c))):
            return a * b + c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        try:
            return float(exact) if exact else a * b + c
        except OverflowError:
            return math.copysign(math.inf, exact)

    return np.asarray(np.frompyfunc(one, 3, 1)(x, y, z), np.float64)


_FLOAT: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "rcp": lambda x: 1.0 / x,
    "pow": np.power,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "hypot": np.hypot,
    "max_num": np.fmax,
    "min_num": np.fmin,
    "fma": _fma,
}
_TESTS: dict[str, Callable[[Array], Array]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}


def _bit_length(x: Array) -> Array:
    """The number of bits of each u64, by halving."""
    length = np.zeros(x.shape, np.int32)
    for step in (32, 16, 8, 4, 2, 1):
        high = x >> np.uint64(step)
        length += np.where(high != 0, step, 0).astype(np.int32)
        x = np.where(high != 0, high, x)
    return np.asarray(length + (x != 0))


def _code(x: Value, dt: DType) -> Array:
    """The bits of an integer as u64."""
    mask = np.uint64((1 << dt.bits) - 1)
    code = widen(x, dt).astype(np.int64 if dt.is_signed else np.uint64).astype(np.uint64)
    return np.asarray(code & mask)


def _popcount(x: Value, dt: DType) -> Array:
    code = np.ascontiguousarray(_code(x, dt)[..., None])
    bits = np.unpackbits(code.view(np.uint8), axis=-1)
    return np.asarray(bits.sum(axis=-1, dtype=np.int32))


def _clz(x: Value, dt: DType) -> Array:
    return np.asarray(dt.bits - _bit_length(_code(x, dt)), np.int32)


def _nextafter(x: Value, y: Value, dt: DType) -> Array:
    container = to_numpy_dtype(dt)
    return np.asarray(np.nextafter(np.asarray(x, container), np.asarray(y, container)))


_ACROSS_LANES: dict[str, np.ufunc] = {
    "sum_lanes": np.add,
    "max_lanes": np.maximum,
    "min_lanes": np.minimum,
    "and_lanes": np.bitwise_and,
    "or_lanes": np.bitwise_or,
    "xor_lanes": np.bitwise_xor,
}


def _across_lanes(name: str, x: Value, dt: DType) -> Array:
    """One value for each vector: the lanes are the last axis; sums wrap or round at the type of a
    lane.
    """
    wide = widen(x, dt)
    return narrow(_ACROSS_LANES[name].reduce(wide, axis=-1, dtype=wide.dtype), dt.scalar)


@cache
def function(name: str, dt: DType) -> Callable[..., Any]:
    """The function on values of type `dt` (scalars or arrays).

    Raises:
        TileError: E0504 when it has no meaning here.
    """
    name = name.removeprefix("fast_")
    if name == "popcount":
        return lambda x: _popcount(x, dt)
    if name == "clz":
        return lambda x: _clz(x, dt)
    if name == "nextafter":
        return lambda x, y: _nextafter(x, y, dt)
    if name in _ACROSS_LANES:
        return lambda x: _across_lanes(name, x, dt)
    if name == "fma" and dt.bits == 64:
        return _fma64
    if name in _TESTS:
        test = _TESTS[name]
        return lambda x: test(double(x, dt))
    if name not in _FLOAT or not dt.is_float:
        raise TileError(
            "E0504",
            f"the oracle has no function {name!r} on {dt}",
            help=f"convert the operand to a float, as in {name}(f32(x))",
        )
    fn = _FLOAT[name]
    return lambda *xs: round_to(np.asarray(fn(*(double(x, dt) for x in xs))), dt)
