"""Random expressions of a wanted type over given leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build, types
from tile_ir.testing.random.values import (
    FLOAT_BINARY,
    INTS,
    Value,
    apply_smooth,
    apply_stepped,
    chosen,
    compared,
    constant,
    converted,
    int_binary,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tile_ir.types import DType


def expression(rng: Random, dt: DType, leaves: Sequence[Value], depth: int) -> Value:
    """A value of type `dt`; leaves of other types are converted where that is tame, else a constant
    serves.
    """
    for _ in range(3):
        made = _attempt(rng, dt, leaves, depth)
        if made is not None:
            return made
    return constant(rng, dt)


def _attempt(rng: Random, dt: DType, leaves: Sequence[Value], depth: int) -> Value | None:
    if depth <= 0 or rng.random() < 0.15:
        return _leaf(rng, dt, leaves)
    if dt.is_bool:
        return _boolean(rng, leaves, depth)
    if rng.random() < 0.15:
        cond = expression(rng, types.bool_, leaves, 1)
        a, b = (expression(rng, dt, leaves, depth - 1) for _ in range(2))
        return chosen(cond, a, b)
    if rng.random() < 0.1:
        other = rng.choice((types.f32, types.f16, *INTS))
        return converted(expression(rng, other, leaves, depth - 1), dt)
    return _float(rng, dt, leaves, depth) if dt.is_float else _integer(rng, dt, leaves, depth)


def _leaf(rng: Random, dt: DType, leaves: Sequence[Value]) -> Value | None:
    if not leaves or rng.random() < 0.15:
        return constant(rng, dt)
    same = [v for v in leaves if v.dtype is dt]
    return converted(rng.choice(same or leaves), dt)


def _boolean(rng: Random, leaves: Sequence[Value], depth: int) -> Value | None:
    if depth > 1 and rng.random() < 0.3:
        a, b = (expression(rng, types.bool_, leaves, depth - 1) for _ in range(2))
        if rng.random() < 0.2:
            return Value(build.logical_not(a.expr))
        return Value(build.binary(rng.choice(("land", "lor")), a.expr, b.expr))
    exact = [v for v in leaves if v.exact] or [constant(rng, types.i32)]
    left = rng.choice(exact)
    right = converted(rng.choice(exact), left.dtype)
    if right is None or not right.exact:
        right = constant(rng, left.dtype)
    return compared(rng, left, right)


def _float(rng: Random, dt: DType, leaves: Sequence[Value], depth: int) -> Value | None:
    if dt.bits <= 8:  # small floats are for storage: compute in a wider one
        return converted(expression(rng, types.f32, leaves, depth), dt)
    a = expression(rng, dt, leaves, depth - 1)
    kind = rng.random()
    if kind < 0.25:
        return apply_smooth(rng, a)
    if kind < 0.3:
        return apply_stepped(rng, a)
    if kind < 0.4:
        op = rng.choice((build.neg, build.abs_))
        return Value(op(a.expr), a.size, a.error)
    b = expression(rng, dt, leaves, depth - 1)
    return rng.choice(FLOAT_BINARY)(a, b)


def _integer(rng: Random, dt: DType, leaves: Sequence[Value], depth: int) -> Value | None:
    a = expression(rng, dt, leaves, depth - 1)
    kind = rng.random()
    if kind < 0.1:
        op = rng.choice(
            (build.bit_not, build.neg, build.abs_) if dt.is_signed else (build.bit_not,)
        )
        return Value(op(a.expr))
    if kind < 0.15:
        counted = build.call(rng.choice(("popcount", "clz")), [a.expr])
        return Value(build.cast(counted, dt))
    return int_binary(rng, a, expression(rng, dt, leaves, depth - 1))
