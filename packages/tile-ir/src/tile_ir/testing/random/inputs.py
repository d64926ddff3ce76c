"""Random arguments for any function."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.interp.bind import equations, linear, solve
from tile_ir.interp.runner import evaluate
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import DType, f64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_ir.expr import Expr

__all__ = ["random_array", "random_inputs"]

Array = np.ndarray[Any, np.dtype[Any]]

_SIZES = (1, 2, 3, 5, 7, 8, 12, 16, 17, 24, 31, 33)
"""Extents that are drawn for symbolic dimensions: around powers of two, and below any tile."""


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dt: DType) -> Array:
    """An array in the container of `dt`: floats within [-4, 4], integers within [-8, 8] or the
    range of the type.
    """
    full = (*shape, dt.lanes) if dt.lanes > 1 else shape
    if dt.is_bool:
        return rng.integers(0, 2, full).astype(np.bool_)
    if dt.is_float:
        return convert_array(np.clip(rng.standard_normal(full), -4, 4), f64, dt)
    low, high = max(int(dt.min_value), -8), min(int(dt.max_value), 8)
    return rng.integers(low, high, full, endpoint=True).astype(np.int8).astype(to_numpy_dtype(dt))


def _extent(fn: Function, e: Expr, dims: Mapping[str, int]) -> int:
    form = linear(e)
    if form is None:
        return evaluate(fn, e, dims)
    return sum(c if v is None else c * dims[v.name] for v, c in form.items())


def random_inputs(
    fn: Function, seed: int, dims: Mapping[str, int] | None = None
) -> dict[str, Array | bool | int | float]:
    """Arguments for `fn` by name: small extents for its symbolic dimensions unless `dims` gives
    them.

    Results are left out. A dimension that no argument determines is passed by name.
    """
    rng = np.random.default_rng(seed)
    choose = random.Random(seed)
    sizes = {d.name: choose.choice(_SIZES) for d in fn.dims}
    sizes.update(dims or {})
    args: dict[str, Any] = {}
    for p in fn.params:
        if p.scalar is not None:
            args[p.name] = _number(rng, p.scalar.dtype)
        elif p.buffer is not None and p.name not in fn.results:
            shape = tuple(_extent(fn, e, sizes) for e in p.buffer.shape)
            args[p.name] = random_array(rng, shape, p.buffer.dtype)
    known: dict[str, int] = {}
    solve(equations(fn, {k: v for k, v in args.items() if isinstance(v, np.ndarray)}), known)
    args.update((d.name, sizes[d.name]) for d in fn.dims if d.name not in known)
    return args


def _number(rng: np.random.Generator, dt: DType) -> bool | int | float:
    value = random_array(rng, (1,), dt)[0]
    return float(value) if dt.is_float else bool(value) if dt.is_bool else int(value)
