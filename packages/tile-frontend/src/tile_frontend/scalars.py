"""Scalar arguments: checked at every launch, for their values are in no key."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from tile_frontend import argument_errors as wrong
from tile_ir.numerics.scalar import convert
from tile_ir.types import f32, f64

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType


_BEYOND_F32, _BEYOND_F64 = 2**128 - 2**103, 2**1024 - 2**970
"""The least numbers that round to infinity (IEEE 754: half a unit above the largest)."""


def scalar_taker(name: str, dtype: DType) -> Callable[[Any], Any]:
    """What takes an argument as a scalar of `dtype`.

    It raises `TileError` E2010 for a value of another kind or out of range.
    """
    return partial(_float if dtype.is_float else _bool if dtype.is_bool else _int, name, dtype)


def _int(name: str, dtype: DType, value: Any) -> int:
    number = _plain(value)
    if not isinstance(number, int) or isinstance(number, bool):
        raise wrong.scalar(name, dtype, value)
    if not dtype.min_value <= number <= dtype.max_value:
        raise wrong.scalar(name, dtype, value)
    return number


def _float(name: str, dtype: DType, value: Any) -> float:
    number = _plain(value)
    if not isinstance(number, (int, float)) or isinstance(number, bool):
        raise wrong.scalar(name, dtype, value)
    # A number that its type only has as infinity was meant otherwise.
    if abs(number) >= (_BEYOND_F64 if dtype is f64 else _BEYOND_F32) and abs(number) != inf:
        raise wrong.scalar(name, dtype, value)
    if dtype is f32 or dtype is f64:
        return float(number)
    # It travels in 32 bits, and kernels compute with it as it comes.
    rounded = float(convert(float(number), f64, dtype))
    if abs(rounded) == inf != abs(number):
        raise wrong.scalar(name, dtype, value)
    return rounded


def _bool(name: str, dtype: DType, value: Any) -> int:
    number = _plain(value)
    if not isinstance(number, bool):
        raise wrong.scalar(name, dtype, value)
    return int(number)


def _plain(value: Any) -> Any:
    """A scalar of an array library as Python's; anything else as it is."""
    if type(value) in (int, float, bool):
        return value
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return item()
    index = getattr(type(value), "__index__", None)
    try:
        return value if index is None else index(value)
    except TypeError:  # an array of several elements, or of floats
        return value
