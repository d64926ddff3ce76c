"""The meaning of the ops on whole tiles: matrix product, reductions, scans.

Floats are multiplied and summed in f64 and rounded once to the dtype of the destination: the best
value that the declared precision holds. Integers wrap around in the dtype of the destination.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.interp.arith import (
    array_op,
    as_array,
    double,
    identity,
    narrow,
    round_to,
    widen,
)
from tile_ir.interp.compiler import rule
from tile_ir.interp.loads import undefined
from tile_ir.interp.regions import fit, reading, writing
from tile_ir.numerics.array import convert_array
from tile_ir.ops import Atom, Gemm, Reduce, Scan
from tile_ir.rewrite import replace
from tile_ir.types import i64

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env
    from tile_ir.interp.regions import Tile
    from tile_ir.interp.storage import Array
    from tile_ir.types import DType

_EXACT_BITS = 16
"""Products of integers up to this width, summed over any tile, are exact in f64."""


def checked(env: Env, tile: Tile) -> Array:
    """The box, all of its elements written."""
    found = tile.view(env)
    array, defined = tile.memory(env)
    if defined is not None and not np.all(defined[tile.index(env, array.shape)]):
        raise undefined(tile.name)
    return found


def _matrix(env: Env, tile: Tile, transposed: bool) -> Array:
    found = checked(env, tile)
    if found.ndim != 2:
        found = found.reshape(found.shape[-2:])
    return found.T if transposed else found


def product(a: Array, a_type: DType, b: Array, b_type: DType) -> tuple[Array, bool]:
    """a @ b, and whether it is in f64 (else i64)."""
    if a_type.is_int and max(a_type.bits, b_type.bits) > _EXACT_BITS:
        return np.matmul(a.astype(np.int64), b.astype(np.int64)), False
    return np.matmul(a.astype(np.float64), b.astype(np.float64)), True


def accumulated(found: Array, exact: bool, old: Any, dt: DType) -> Array:
    """old + found in the accumulator's dtype; `old` None is zero."""
    if dt.is_float:
        total = found.astype(np.float64, copy=False)
        return round_to(total if old is None else total + double(old, dt), dt)
    whole = found.astype(np.int64) if exact else found
    if old is not None:
        whole = whole + widen(old, dt).astype(np.int64)
    return convert_array(whole, i64, dt)


def matmul(cx: Compiler, s: Gemm | Atom) -> Callable[[Env], None]:
    """c (+)= op(a) @ op(b) on regions of tiles."""
    init = None if s.init is None else cx.expr(s.init)
    a, b, c = reading(cx, s.a), reading(cx, s.b), writing(cx, s.c)

    def run(env: Env) -> None:
        x, y = _matrix(env, a, s.transpose_a), _matrix(env, b, s.transpose_b)
        target = c.view(env)
        found, exact = product(x, a.dtype, y, b.dtype)
        fresh = init is not None and init(env)
        held = target if fresh or c.dtype.is_float else checked(env, c)
        old = None if fresh else fit(held, found.shape)
        target[...] = fit(accumulated(found, exact, old, c.dtype), target.shape)
        define(env, c)

    return run


def define(env: Env, tile: Tile) -> None:
    """Note that the box was written."""
    array, defined = tile.memory(env)
    if defined is not None:
        defined[tile.index(env, array.shape)] = True


@rule(Gemm)
def gemm(cx: Compiler, s: Gemm) -> Callable[[Env], None]:
    """c += op(a) @ op(b)."""
    return matmul(cx, s)


_ABSOLUTE = {"absmax": "max", "abssum": "sum"}
_EXTREME: dict[str, np.ufunc] = {"max": np.maximum, "min": np.minimum}
_NUMBER: dict[str, np.ufunc] = {"max": np.fmax, "min": np.fmin}
"""Where a NaN loses."""
_UFUNC: dict[str, np.ufunc] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _summed(x: Array, src: DType, dim: int, old: Any, dst: DType) -> Array:
    if dst.is_float:
        wide = double(x, src) if src.is_float else x.astype(np.float64)
        total = wide.sum(axis=dim, keepdims=True)
        return round_to(total if old is None else total + double(old, dst), dst)
    whole = widen(convert_array(x, src, dst), dst).astype(np.int64)
    total = whole.sum(axis=dim, keepdims=True)
    if old is not None:
        total = total + widen(old, dst).astype(np.int64)
    return convert_array(total, i64, dst)


def _extreme(x: Array, src: DType, dim: int, kind: str, ignore: bool) -> Array:
    wide = widen(x, src)
    if not ignore:
        return narrow(_EXTREME[kind].reduce(wide, axis=dim, keepdims=True), src)
    start = widen(as_array(identity(kind, src), src), src)
    return narrow(_NUMBER[kind].reduce(wide, axis=dim, keepdims=True, initial=start), src)


def reduced(s: Reduce, x: Array, src: DType, old: Any, dst: DType) -> Array:
    """The value of a reduction, its axis kept with extent 1; `old` None when it starts afresh."""
    kind = _ABSOLUTE.get(s.kind, s.kind)
    if kind != s.kind:
        x = array_op("abs", src)(x) if src.is_signed else x
    if kind == "sum":
        return _summed(x, src, s.dim, old, dst)
    if kind in _UFUNC:
        result = narrow(_UFUNC[kind].reduce(widen(x, src), axis=s.dim, keepdims=True), src)
    else:
        result = _extreme(x, src, s.dim, kind, s.nan == "ignore")
    result = convert_array(result, src, dst)
    return result if old is None else _joined(kind, s.nan == "ignore", old, result, dst)


def _joined(kind: str, ignore: bool, old: Any, new: Array, dt: DType) -> Array:
    if not ignore:
        return array_op(kind, dt)(old, new)
    return narrow(_NUMBER[kind](widen(old, dt), widen(new, dt)), dt)


@rule(Reduce)
def reduce(cx: Compiler, s: Reduce) -> Callable[[Env], None]:
    """Combine along one axis, with the old contents of dst unless `clear`."""
    src, dst = reading(cx, s.src), writing(cx, s.dst)

    def run(env: Env) -> None:
        x, target = checked(env, src), dst.view(env)
        dim = s.dim % x.ndim
        x = _by_part(x, dim, *s.parts) if s.parts else x
        shape = list(x.shape)
        shape[dim] = 1
        old = None if s.clear else checked(env, dst).reshape(shape)
        made = reduced(replace(s, dim=dim), x, src.dtype, old, dst.dtype)
        target[...] = made.reshape(target.shape)
        define(env, dst)

    return run


def _by_part(x: Array, dim: int, count: int, stride: int) -> Array:
    """Axis `dim` as two: the elements of a part, then the parts."""
    before, after = x.shape[:dim], x.shape[dim + 1 :]
    split = x.reshape(*before, -1, count, stride, *after)
    return np.moveaxis(split, dim + 1, dim + 2).reshape(*before, -1, count, *after)


@rule(Scan)
def scan(cx: Compiler, s: Scan) -> Callable[[Env], None]:
    """Inclusive running sum or maximum along one axis."""
    src, dst = reading(cx, s.src), writing(cx, s.dst)

    def run(env: Env) -> None:
        x, target = checked(env, src), dst.view(env)
        if s.reverse:
            x = np.flip(x, s.dim)
        y = _running(x, s, src.dtype, dst.dtype)
        target[...] = fit(np.flip(y, s.dim) if s.reverse else y, target.shape)
        define(env, dst)

    return run


def _running(x: Array, s: Scan, src: DType, dst: DType) -> Array:
    if s.kind == "max":
        wide = np.maximum.accumulate(widen(x, src), axis=s.dim)
        return convert_array(narrow(wide, src), src, dst)
    if dst.is_float:
        wide = double(x, src) if src.is_float else x.astype(np.float64)
        return round_to(np.cumsum(wide, axis=s.dim), dst)
    whole = widen(convert_array(x, src, dst), dst).astype(np.int64)
    return convert_array(np.cumsum(whole, axis=s.dim), i64, dst)
