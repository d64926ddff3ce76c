"""Operators on values: Python integers where a value is uniform, numpy arrays and scalars
elsewhere.

Every operation rounds once, to its own dtype. Types that numpy computes in are used as they are;
narrower floats are widened to f32, in which one `+ - * /` of two of them is exact enough to be
rounded once (2p + 2 bits suffice), and 4-bit integers to i32.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir import numerics
from tile_ir.numerics import wrap
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import DType, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.storage import Array

Value = Any
"""A Python int or bool, a numpy scalar, or an array in the container of its dtype."""

NATIVE = frozenset({bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64})
"""The types in which numpy itself computes as we want."""

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
LOGICAL = ("land", "lor")

INTEGER: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
"""Total operators on Python integers, to be wrapped to the dtype."""

PARTIAL: dict[str, Callable[[int, int, DType], int]] = {
    "floordiv": numerics.floordiv,
    "floormod": numerics.floormod,
    "truncdiv": numerics.truncdiv,
    "truncmod": numerics.truncmod,
    "ceildiv": numerics.ceildiv,
    "shl": numerics.shl,
    "shr": numerics.shr,
}
"""Operators undefined for some second operands, which raise `ArithmeticError` there."""


def _truncdiv(x: Array, y: Array) -> Array:
    inexact = np.remainder(x, y) != 0
    return np.asarray(np.floor_divide(x, y) + (inexact & ((x < 0) != (y < 0))))


def _ceildiv(x: Array, y: Array) -> Array:
    return np.asarray(np.floor_divide(x, y) + (np.remainder(x, y) != 0))


ARRAY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "floordiv": np.floor_divide,
    "floormod": np.remainder,
    "truncdiv": _truncdiv,
    "truncmod": np.fmod,
    "ceildiv": _ceildiv,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "neg": np.negative,
    "abs": np.absolute,
    "bnot": np.invert,
}
"""Operators on arrays; the partial ones get second operands in their domain."""


def as_array(x: Value, dt: DType) -> Array:
    """`x` as an array in the container of `dt`."""
    return np.asarray(x, to_numpy_dtype(dt))


def widen(x: Value, dt: DType) -> Array:
    """`x`, of type `dt`, in the type that numpy computes in for it."""
    array = as_array(x, dt)
    return array if dt.scalar in NATIVE else array.astype(np.float32 if dt.is_float else np.int32)


def narrow(x: Array, dt: DType) -> Array:
    """A result of computing in the type of `widen`, rounded or wrapped to `dt`."""
    if dt.scalar in NATIVE:
        return x.astype(to_numpy_dtype(dt), copy=False)
    return convert_array(np.asarray(x), f32 if dt.is_float else i32, dt)


def double(x: Value, dt: DType) -> Array:
    """A float value of type `dt` as f64, exactly."""
    return as_array(x, dt).astype(np.float64)


def round_to(x: Array, dt: DType) -> Array:
    """f64 values rounded once to the float type `dt`."""
    if dt.scalar is f64:
        return x
    if dt.scalar is f32 or dt.scalar is f16:
        return x.astype(to_numpy_dtype(dt))
    return convert_array(np.asarray(x), f64, dt)


@cache
def array_op(op: str, dt: DType) -> Callable[..., Array]:
    """The operator on values of type `dt`, at least one of them an array, giving `dt`."""
    fn = ARRAY[op]
    if dt.scalar in NATIVE:
        return _native(fn, to_numpy_dtype(dt))
    return lambda *xs: narrow(fn(*(widen(x, dt) for x in xs)), dt)


def _native(fn: Callable[..., Any], container: np.dtype[Any]) -> Callable[..., Array]:
    # A lone Python int would be taken as i64; two operands agree on the container.
    if isinstance(fn, np.ufunc) and fn.nin == 2 and container != np.dtype(np.bool_):
        return lambda x, y: fn(x, y, dtype=container)
    return lambda *xs: fn(*(np.asarray(x, container) for x in xs)).astype(container, copy=False)


def outside_domain(op: str, y: Value, dt: DType) -> Value:
    """Where the second operand of a partial operator has no result."""
    if op in ("shl", "shr"):
        # 4-bit containers do not compare with numbers beyond their range.
        y = np.asarray(y).astype(np.int64) if dt.bits < 8 else y
        return (y < 0) | (y >= dt.bits)
    return y == 0


def identity(kind: str, dt: DType) -> Value:
    """What combines with any value to that value, for the reductions and atomics of type `dt`."""
    if kind in ("max", "min"):
        low = kind == "max"
        if dt.is_float and dt.float_format.inf_code is not None:
            return to_numpy_dtype(dt).type("-inf" if low else "inf")
        return to_numpy_dtype(dt).type(dt.min_value if low else dt.max_value)
    if kind == "and":
        return to_numpy_dtype(dt).type(wrap(-1, dt.scalar))
    return to_numpy_dtype(dt).type(0)


__all__ = [
    "ARRAY",
    "COMPARISONS",
    "INTEGER",
    "LOGICAL",
    "NATIVE",
    "PARTIAL",
    "Value",
    "array_op",
    "as_array",
    "double",
    "identity",
    "narrow",
    "outside_domain",
    "round_to",
    "widen",
]
