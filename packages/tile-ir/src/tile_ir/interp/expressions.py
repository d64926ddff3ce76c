"""Expressions as closures: compiled once for each interned node, evaluated on an `Env`.

A node is *uniform* when all lanes agree on it: then integers are Python's (indices, bounds) and
floats numpy scalars. Otherwise it yields arrays over the axes of the box of the enclosing
`parallel`, broadcast where an axis does not matter. `select`, `and` and `or` evaluate a branch only
where it is taken, by narrowing the mask of active lanes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir import expr as ex
from tile_ir.diag import TileError
from tile_ir.interp.arith import (
    COMPARISONS,
    INTEGER,
    LOGICAL,
    PARTIAL,
    array_op,
    as_array,
    outside_domain,
)
from tile_ir.interp.functions import function
from tile_ir.interp.loads import compile_load
from tile_ir.interp.threads import CALLS, compile_thread_call
from tile_ir.numerics import convert, wrap
from tile_ir.numerics.array import convert_array, pack, to_numpy_dtype, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.interp.arith import Value
    from tile_ir.interp.context import Context
    from tile_ir.interp.machine import Env, Eval
    from tile_ir.types import DType


@cache
def may_fail(e: ex.Expr) -> bool:
    """Whether evaluating `e` in a lane that is not active could raise."""
    return any(
        isinstance(n, ex.Load) or (isinstance(n, ex.Binary) and n.op in PARTIAL) for n in ex.walk(e)
    )


def scalar_of(dt: DType) -> Callable[[Any], Value]:
    """What turns an array scalar into the form of uniform values."""
    if dt.is_float:
        return to_numpy_dtype(dt).type
    return bool if dt.is_bool else int


def constant(value: bool | int | float, dt: DType) -> Value:
    """The uniform value of a literal."""
    return to_numpy_dtype(dt).type(value) if dt.is_float else value


def compile_expr(cx: Context, e: ex.Expr) -> Eval:
    """The evaluator of `e`."""
    return _RULES[type(e)](cx, e)


def _const(cx: Context, e: ex.Const) -> Eval:
    value = constant(e.value, e.dtype)
    return lambda env: value


def _var(cx: Context, e: ex.Var) -> Eval:
    name = e.name
    return lambda env: env.vars[name]


def _unary(cx: Context, e: ex.Unary) -> Eval:
    a, dt = cx.expr(e.a), e.dtype
    if e.op == "not":
        if cx.is_array(e.a):
            return lambda env: np.logical_not(a(env))
        return lambda env: not a(env)
    if cx.is_array(e) or dt.is_float:
        fn = array_op(e.op, dt)
        return lambda env: fn(a(env))
    integer: Callable[[int], int] = {"neg": lambda x: -x, "abs": abs, "bnot": lambda x: ~x}[e.op]
    return lambda env: wrap(integer(a(env)), dt)


def _binary(cx: Context, e: ex.Binary) -> Eval:
    op, a, b = e.op, cx.expr(e.a), cx.expr(e.b)
    if op in LOGICAL:
        return _logical(cx, e, a, b)
    if op in COMPARISONS:
        compare = COMPARISONS[op]
        return lambda env: compare(a(env), b(env))
    if op in PARTIAL:
        return _partial(cx, e, a, b)
    if cx.is_array(e) or e.dtype.is_float:
        fn = array_op(op, e.dtype)
        return lambda env: fn(a(env), b(env))
    return _wrapping(INTEGER[op], a, b, e.dtype)


def _wrapping(fn: Callable[[int, int], int], a: Eval, b: Eval, dt: DType) -> Eval:
    low, high = int(dt.min_value), int(dt.max_value)

    def run(env: Env) -> int:
        r = fn(a(env), b(env))
        return r if low <= r <= high else wrap(r, dt)

    return run


def _undefined(op: str, dt: DType) -> TileError:
    what = f"shift of {dt.scalar} by a count outside 0..{dt.bits - 1}"
    return TileError(
        "E0505",
        what if op in ("shl", "shr") else f"{op} by zero",
        help="guard the operation with `select` or `if`",
    )


def _partial(cx: Context, e: ex.Binary, a: Eval, b: Eval) -> Eval:
    op, dt = e.op, e.dtype
    if not cx.is_array(e):
        exact = PARTIAL[op]

        def one(env: Env) -> int:
            try:
                return exact(a(env), b(env), dt)
            except ArithmeticError:
                if env.active():
                    raise _undefined(op, dt) from None
                return 0

        return one
    fn = array_op(op, dt)

    def run(env: Env) -> Value:
        x, y = a(env), b(env)
        bad = outside_domain(op, y, dt)
        if np.any(bad):
            if np.any(bad if env.mask is None else bad & env.mask):
                raise _undefined(op, dt)
            y = np.where(bad, 1, y).astype(to_numpy_dtype(dt))
        return fn(x, y)

    return run


def _masked(value: Eval, env: Env, mask: Any) -> Value:
    outer = env.mask
    mask = np.asarray(mask)  # lanes may agree by chance, on a bool of Python's
    env.mask = mask if outer is None else outer & mask
    result = value(env)
    env.mask = outer
    return result


def _logical(cx: Context, e: ex.Binary, a: Eval, b: Eval) -> Eval:
    stops = e.op == "lor"
    if not cx.is_array(e.a):
        return lambda env: stops if bool(a(env)) is stops else b(env)
    fn = np.logical_or if stops else np.logical_and
    if not may_fail(e.b):
        return lambda env: fn(a(env), b(env))

    def run(env: Env) -> Value:
        x = a(env)
        return fn(x, _masked(b, env, np.logical_not(x) if stops else x))

    return run


def _select(cx: Context, e: ex.Select) -> Eval:
    cond, t, f = cx.expr(e.cond), cx.expr(e.t), cx.expr(e.f)
    if not cx.is_array(e.cond):
        return lambda env: t(env) if cond(env) else f(env)
    container = to_numpy_dtype(e.dtype)
    guard = may_fail(e.t) or may_fail(e.f)
    spread = e.cond.dtype.lanes == 1 and e.dtype.lanes > 1

    def run(env: Env) -> Value:
        c = cond(env)
        if guard:
            x, y = _masked(t, env, c), _masked(f, env, np.logical_not(c))
        else:
            x, y = t(env), f(env)
        if spread:
            c = np.asarray(c)[..., None]
        # numpy has no common type for numbers of Python's beyond its default integer.
        return np.where(c, np.asarray(x, container), np.asarray(y, container))

    return run


def _cast(cx: Context, e: ex.Cast) -> Eval:
    a, src, dst = cx.expr(e.a), e.a.dtype, e.dtype
    if cx.is_array(e):
        return lambda env: convert_array(as_array(a(env), src), src, dst)
    if src.is_float and dst.is_float:
        return lambda env: convert_array(as_array(a(env), src), src, dst)[()]
    make = to_numpy_dtype(dst).type if dst.is_float else None
    read: Callable[[Any], Any] = float if src.is_float else int

    def run(env: Env) -> Value:
        value = convert(read(a(env)), src, dst)
        return value if make is None else make(value)

    return run


def _bitcast(cx: Context, e: ex.Bitcast) -> Eval:
    a, src, dst = cx.expr(e.a), e.a.dtype, e.dtype
    if cx.is_array(e):
        return lambda env: reinterpret(as_array(a(env), src), src, dst)
    one = scalar_of(dst)
    return lambda env: one(reinterpret(as_array(a(env), src), src, dst)[()])


def reinterpret(x: Any, src: DType, dst: DType) -> Any:
    """The bits of an array of `src` elements as elements of `dst`, which have the same number of
    bits.
    """
    lanes = x if src.lanes > 1 else x[..., None]
    shape = lanes.shape[:-1]
    size = int(np.prod(shape, dtype=np.int64)) * dst.lanes
    found = unpack(pack(np.ascontiguousarray(lanes).reshape(-1), src.scalar), dst.scalar, (size,))
    return found.reshape((*shape, dst.lanes) if dst.lanes > 1 else shape)


def _call(cx: Context, e: ex.Call) -> Eval:
    if e.fn == "device_workers":
        return lambda env: env.run.workers
    if e.fn == "warp_width":
        return lambda env: env.run.warp
    if e.fn in CALLS:
        return compile_thread_call(cx, e)
    args = [cx.expr(a) for a in e.args]
    fn = function(e.fn, e.args[0].dtype)
    if cx.is_array(e):
        return lambda env: fn(*(a(env) for a in args))
    one = scalar_of(e.dtype)
    return lambda env: one(fn(*(a(env) for a in args)))


def _ramp(cx: Context, e: ex.Ramp) -> Eval:
    base = cx.expr(e.base)
    # Unsigned lanes may count down: they wrap around, as sums of theirs do.
    counted = np.arange(e.dtype.lanes, dtype=np.int64) * e.stride
    steps: np.ndarray[Any, np.dtype[Any]] = counted.astype(to_numpy_dtype(e.dtype))
    dt = e.base.dtype
    if not cx.is_array(e.base):
        # With the axes of the box in front, lanes of a vector are never taken for lanes of the box.
        steps = steps.reshape((1,) * len(cx.lane_axes) + steps.shape)
        return lambda env: np.asarray(as_array(base(env), dt) + steps)
    return lambda env: np.asarray(as_array(base(env), dt)[..., None] + steps)


def _broadcast(cx: Context, e: ex.Broadcast) -> Eval:
    a, dt, lanes = cx.expr(e.a), e.a.dtype, e.dtype.lanes

    def run(env: Env) -> Value:
        x = as_array(a(env), dt)
        return np.broadcast_to(x[..., None], (*x.shape, lanes))

    return run


_RULES: dict[type[ex.Expr], Callable[[Context, Any], Eval]] = {
    ex.Const: _const,
    ex.Var: _var,
    ex.Load: compile_load,
    ex.Unary: _unary,
    ex.Binary: _binary,
    ex.Select: _select,
    ex.Cast: _cast,
    ex.Bitcast: _bitcast,
    ex.Call: _call,
    ex.Ramp: _ramp,
    ex.Broadcast: _broadcast,
}
