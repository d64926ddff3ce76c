"""Comparison of arrays with the oracle: tolerances by dtype, and a message that says where and how
far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.types import DType, dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["assert_all_close", "assert_close", "default_tolerance"]

Array = np.ndarray[Any, np.dtype[Any]]

_SHOWN = 5
_ROUNDINGS = 32
"""How many roundings of f32 and f64 a result may be off: blocked sums, contraction, elementary
functions.
"""


def default_tolerance(dt: DType) -> float:
    """The relative error allowed of a type, in its own steps: 1 up to 8 bits, 2 up to 19, else 32.

    Integers allow none.
    """
    if not dt.is_float:
        return 0.0
    return dt.eps * (1 if dt.bits <= 8 else 2 if dt.bits <= 19 else _ROUNDINGS)


def _wide(x: Any, dt: DType) -> Array:
    array = np.asarray(x)
    with np.errstate(invalid="ignore"):  # a signalling NaN is a value like another
        return array.astype(np.float64) if dt.is_float else array.astype(object)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    what: str = "result",
) -> None:
    """Fail unless `actual` equals `expected` within |a - e| <= atol + rtol * |e|, element by
    element.

    The dtype is that of `expected`. By default `rtol` is that of the dtype, and `atol` is `rtol`
    times the root mean square of the finite expected values, because sums cancel. Both arrays have
    the same shape and dtype; NaN equals NaN, infinities of one sign are equal. Integers and bools
    are compared exactly unless `atol` is given.
    """
    __tracebackhide__ = True
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        got, want = _kind(actual), _kind(expected)
        raise AssertionError(f"{what} is {got}, expected {want}")
    dt = dtype(expected.dtype)
    a, e = _wide(actual, dt), _wide(expected, dt)
    if not dt.is_float:
        bad = np.asarray(np.abs(a - e) > (atol or 0), bool)
    else:
        relative = default_tolerance(dt) if rtol is None else rtol
        bad = _wrong(a, e, relative, _scale(e) * relative if atol is None else atol)
    if bad.any():
        raise AssertionError(_report(what, actual, expected, bad, a, e))


def _kind(x: Array) -> str:
    return f"{x.dtype}{list(x.shape)}"


def _scale(e: Array) -> float:
    finite = e[np.isfinite(e)]
    largest = float(np.abs(finite).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    # Squares of the largest doubles overflow, those of the ratios do not.
    return largest * float(np.sqrt(np.mean((finite / largest) ** 2)))


def _wrong(a: Array, e: Array, rtol: float, atol: float) -> Array:
    with np.errstate(invalid="ignore"):
        close = np.abs(a - e) <= atol + rtol * np.abs(e)
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    # An infinite tolerance (of an infinite value) must not excuse a finite result.
    return np.asarray(~(same | (close & np.isfinite(a) & np.isfinite(e))))


def _report(what: str, actual: Array, expected: Array, bad: Array, a: Array, e: Array) -> str:
    places = np.argwhere(bad)
    with np.errstate(invalid="ignore"):
        error = np.where(bad, np.abs(a - e), 0).astype(np.float64)
    worst = tuple(
        int(i)
        for i in np.unravel_index(int(np.argmax(np.nan_to_num(error, nan=np.inf))), bad.shape)
    )
    lines = [
        f"{what} ({_kind(expected)}) differs in {len(places)} of {bad.size} elements",
        f"  worst at {list(worst)}: got {actual[worst]}, expected {expected[worst]}",
    ]
    lines += [
        f"  at {[int(i) for i in at]}: got {actual[tuple(at)]}, expected {expected[tuple(at)]}"
        for at in places[:_SHOWN]
    ]
    if bad.ndim:
        box = [f"{lo}..{hi}" for lo, hi in zip(places.min(0), places.max(0), strict=True)]
        lines.append(f"  all of them lie within [{', '.join(box)}]")
    return "\n".join(lines)


def assert_all_close(
    actual: Mapping[str, Any],
    expected: Mapping[str, Any],
    atol: Mapping[str, float] | None = None,
) -> None:
    """Compare every buffer of two runs by name; `atol` overrides the absolute tolerance of some.

    A tolerance given for a buffer is the only one it has (the relative one is then 0).
    """
    __tracebackhide__ = True
    if set(actual) != set(expected):
        raise AssertionError(f"buffers {sorted(actual)}, expected {sorted(expected)}")
    for name, want in expected.items():
        if atol is not None and name in atol:
            assert_close(actual[name], want, rtol=0.0, atol=atol[name], what=name)
        else:
            assert_close(actual[name], want, what=name)
