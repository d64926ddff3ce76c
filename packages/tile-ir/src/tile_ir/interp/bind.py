"""From arguments to a first environment: checks, symbolic dimensions from shapes and strides,
storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir import expr as ex
from tile_ir.diag import TileError
from tile_ir.interp.storage import Storage, allocate, array_shape, zero
from tile_ir.numerics import convert, wrap
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.opdef import Access
from tile_ir.ops import View
from tile_ir.rewrite import all_effects, walk
from tile_ir.types import f64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function, Param
    from tile_ir.expr import Expr, Var
    from tile_ir.interp.compiler import Compiler
    from tile_ir.interp.machine import Env

Linear = dict["Var | None", int]
"""A linear expression: the coefficient of each variable, the constant under None."""


def _fail(name: str, why: str, fix: str) -> TileError:
    return TileError("E0501", f"argument {name}: {why}", help=fix)


def linear(e: Expr) -> Linear | None:
    """The expression as a linear form with integer coefficients, None when it has another."""
    if isinstance(e, ex.Const):
        return {None: int(e.value)}
    if isinstance(e, ex.Var):
        return {e: 1}
    if isinstance(e, ex.Cast):
        return linear(e.a)
    if not isinstance(e, ex.Binary) or e.op not in ("add", "sub", "mul"):
        return None
    a, b = linear(e.a), linear(e.b)
    if a is None or b is None:
        return None
    if e.op == "mul":
        a, b = (b, a) if set(a) <= {None} else (a, b)
        return {v: c * b.get(None, 0) for v, c in a.items()} if set(b) <= {None} else None
    sign = 1 if e.op == "add" else -1
    return {v: a.get(v, 0) + sign * b.get(v, 0) for v in {**a, **b}}


def solve(equations: list[tuple[Expr, int]], known: dict[str, int]) -> None:
    """Bind variables in `known` by equations expression = number that have one unknown left, until
    none is left.
    """
    forms = [(form, value) for e, value in equations if (form := linear(e)) is not None]
    progress = True
    while progress:
        progress = False
        for form, value in forms:
            unknown = [v for v, c in form.items() if v is not None and c and v.name not in known]
            if len(unknown) != 1:
                continue
            rest = sum(
                c if v is None else c * known[v.name]
                for v, c in form.items()
                if v is not unknown[0]
            )
            quotient, remainder = divmod(value - rest, form[unknown[0]])
            if remainder == 0:
                known[unknown[0].name] = quotient
                progress = True


def _array(p: Buffer, given: Any) -> np.ndarray[Any, Any]:
    container = to_numpy_dtype(p.dtype)
    if not isinstance(given, np.ndarray) or given.dtype != container:
        what = given.dtype if isinstance(given, np.ndarray) else type(given).__name__
        why = f"is {what}, not an array of {container} ({p.dtype})"
        raise _fail(p.name, why, f"pass a numpy array of dtype {container}")
    rank = len(p.shape) + (p.dtype.lanes > 1)
    if given.ndim != rank:
        lanes = ", the last one for the lanes" if p.dtype.lanes > 1 else ""
        why = f"has {given.ndim} axes, not {rank}"
        raise _fail(p.name, why, f"reshape it to {rank} axes{lanes}")
    return given


def _scalar(p: Var, given: Any) -> Any:
    if p.dtype.is_float:
        return to_numpy_dtype(p.dtype).type(convert(float(given), f64, p.dtype))
    value = int(given)
    if wrap(value, p.dtype) != value:
        fix = f"pass a number from {p.dtype.min_value} to {p.dtype.max_value}"
        raise _fail(p.name, f"{value} is no {p.dtype}", fix)
    return bool(value) if p.dtype.is_bool else value


def equations(fn: Function, arrays: Mapping[str, np.ndarray[Any, Any]]) -> list[tuple[Expr, int]]:
    """What the shapes and strides (in elements) of the arguments say about the dimensions."""
    found: list[tuple[Expr, int]] = []
    for p in fn.params:
        if p.buffer is None or p.name not in arrays:
            continue
        array = arrays[p.name]
        found += zip(p.buffer.shape, array.shape, strict=False)
        strides = (s // array.itemsize for s in array.strides)
        found += zip(p.buffer.strides or (), strides, strict=False)
    return found


def written(fn: Function) -> frozenset[str]:
    """The parameters that the function may write, through views as well."""
    sources = {s.buffer.name: s.source for s in walk(fn.body) if isinstance(s, View)}
    names = set()
    for effect in all_effects(fn.body):
        if effect.access & (Access.WRITE | Access.UPDATE):
            name = effect.buffer
            while name in sources:
                name = sources[name]
            names.add(name)
    return frozenset(p.name for p in fn.params if p.buffer is not None) & names


def bind(cx: Compiler, args: Mapping[str, Any], changed: frozenset[str], env: Env) -> None:
    """Fill the environment of a launch. Arrays in `changed`, which it writes, are copied first.

    Raises:
        TileError: E0501 for an argument that does not fit, E0509 for a dimension that stays
            unknown.
    """
    fn = cx.fn
    names = [*(p.name for p in fn.params), *(d.name for d in fn.dims)]
    unknown = set(args) - set(names)
    if unknown:
        fix = f"its parameters and dimensions are {', '.join(names) or 'none'}"
        raise _fail(min(unknown), f"{fn.name} has no such parameter", fix)
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for p in fn.params:
        _take(fn, p, args, arrays, env.vars)
    for d in fn.dims:
        if d.name in args:
            env.vars[d.name] = _scalar(d, args[d.name])
    solve(equations(fn, arrays), env.vars)
    for d in fn.dims:
        if d.name not in env.vars:
            raise TileError(
                "E0509",
                f"dimension {d.name} of {fn.name} is not determined",
                notes=("no shape or stride of the arguments has it as the only unknown",),
                help=f"pass its value among the arguments, under the name {d.name}",
            )
    copied = changed | cx.viewed
    for p in fn.params:
        if p.buffer is not None:
            env.bufs[p.name] = _storage(cx, p.buffer, arrays.get(p.name), env, p.name in copied)


def _take(
    fn: Function, p: Param, args: Mapping[str, Any], arrays: dict[str, Any], scalars: dict[str, Any]
) -> None:
    if p.name not in args:
        if p.name not in fn.results:
            raise _fail(p.name, "is missing", "pass it by name; only results may be left out")
    elif p.buffer is not None:
        arrays[p.name] = _array(p.buffer, args[p.name])
    elif p.scalar is not None:
        scalars[p.name] = _scalar(p.scalar, args[p.name])


def _storage(cx: Compiler, p: Buffer, array: Any, env: Env, copied: bool) -> Storage:
    shape = tuple(cx.expr(e)(env) for e in p.shape)
    if array is None:
        made = allocate(p.name, p.dtype, "global", shape, track=False)
    else:
        if array.shape != array_shape(shape, p.dtype):
            raise _fail(
                p.name,
                f"has shape {array.shape}, not {array_shape(shape, p.dtype)}",
                "pass arrays that agree on every dimension they share",
            )
        made = Storage(p.name, p.dtype, "global", np.array(array, order="C") if copied else array)
    made.safe = zero(p.dtype) if p.safe_value is None else cx.expr(p.safe_value)(env)
    return made
