"""Arithmetic rounded once, in a direction of one's choice.

To nearest even is the operation itself, kept apart from its neighbours so that no compiler fuses
them. The other directions work on float32: the exact result is compared, in float64, with the
rounded one, which moves to its neighbour where it lies on the wrong side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.trace import state
from tile_frontend.trace.values import Value, expr_of
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.types import f32, f64, u32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.expr import Expr

__all__ = [
    "ieee_add",
    "ieee_fdiv",
    "ieee_fmaf",
    "ieee_frcp",
    "ieee_frsqrt",
    "ieee_fsqrt",
    "ieee_mul",
    "ieee_sub",
]

_MODES = ("rn", "rz", "ru", "rd")


def _operands(what: str, mode: str, values: Sequence[Any]) -> list[Expr]:
    """The operands under names of their own, float32 or all float64."""
    b = state.builder(what)
    exprs = [expr_of(v) for v in values]
    typed = next((e for e, v in zip(exprs, values, strict=True) if isinstance(v, Value)), exprs[0])
    exprs = [
        build.cast(e, typed.dtype) if not isinstance(v, Value) else e
        for e, v in zip(exprs, values, strict=True)
    ]
    types = {e.dtype for e in exprs}
    if types not in ({f32}, {f64}):
        raise TileError(
            "E1503",
            f"{what} takes float32 or float64, not {' and '.join(str(e.dtype) for e in exprs)}",
            help="convert the operands with T.cast",
        )
    if mode not in _MODES or (mode != "rn" and types == {f64}):
        raise TileError(
            "E1503",
            f"{what} has rounding_mode={mode!r} on {exprs[0].dtype}",
            notes=("other directions than to nearest need a wider type to compare with",),
            help=f"the modes are {', '.join(_MODES)}; all but rn are for float32",
        )
    return [b.let("operand", e).expr for e in exprs]


def _wide(e: Expr) -> Expr:
    return build.cast(e, f64)


def _sum(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """x + y of doubles and what is lost of it: D. E. Knuth, The Art of Computer Programming,
    volume 2, section 4.2.2, theorem B.
    """
    b = state.builder("a rounded sum")
    total = b.let("total", build.add(x, y)).expr
    part = b.let("part", build.sub(total, x)).expr
    lost = build.add(build.sub(x, build.sub(total, part)), build.sub(y, part))
    return total, b.let("lost", lost).expr


def _beyond(total: Expr, lost: Expr, near: Expr) -> Expr:
    """A number of the sign of (total + lost) - near."""
    gap = build.sub(total, _wide(near))
    return build.select(build.ne(gap, build.const(0.0, f64)), gap, lost)


def _directed(near: Expr, beyond: Expr, mode: str) -> Value:
    """`near` or its neighbour, for an exact result that differs from it by the sign of `beyond`."""
    b = state.builder("a rounded result")
    side = b.let("beyond", beyond).expr
    zero, none = build.const(0.0, f64), build.const(0.0, f32)
    above, below = build.gt(side, zero), build.lt(side, zero)
    up, down, inwards = (
        build.call("nextafter", [near, to])
        for to in (build.const(float("inf"), f32), build.const(float("-inf"), f32), none)
    )
    if mode == "ru":
        return b.let("rounded", build.select(above, up, near))
    if mode == "rd":
        return b.let("rounded", build.select(below, down, near))
    outside = build.lor(
        build.land(build.gt(near, none), below), build.land(build.lt(near, none), above)
    )
    return b.let("rounded", build.select(outside, inwards, near))


def _signed_zero(result: Value, terms: Sequence[Expr], mode: str) -> Value:
    """An exact sum of zero is -0 downwards, unless both terms are +0 (IEEE 754, section 6.3)."""
    if mode != "rd":
        return result
    signs = build.bit_or(*(build.bitcast(t, u32) for t in terms))
    negative = build.ne(build.shr(signs, build.const(31, u32)), build.const(0, u32))
    exact = build.land(build.eq(result.expr, build.const(0.0, f32)), negative)
    return Value(build.select(exact, build.const(-0.0, f32), result.expr))


def _nearest(*factors: Expr) -> Value:
    b = state.builder("a rounded result")
    return b.let("rounded", build.call("fma", factors))


def _added(what: str, x: Expr, y: Expr, mode: str) -> Value:
    near = _nearest(x, build.const(1.0, x.dtype), y)
    if mode == "rn":
        return near
    total, lost = _sum(_wide(x), _wide(y))
    return _signed_zero(_directed(near.expr, _beyond(total, lost, near.expr), mode), (x, y), mode)


def ieee_add(x: Any, y: Any, rounding_mode: str = "rn") -> Value:
    """x + y, rounded "rn" to nearest even, "rz" to zero, "ru" up or "rd" down.

    Raises `TileError` E1503 for another mode, another type, or a direction on float64.
    Example: `T.ieee_add(x, 1.0, "ru")`
    """
    a, b = _operands("T.ieee_add", rounding_mode, (x, y))
    return _added("T.ieee_add", a, b, rounding_mode)


def ieee_sub(x: Any, y: Any, rounding_mode: str = "rn") -> Value:
    """x - y; modes and errors are those of `T.ieee_add`.

    Example: `T.ieee_sub(x, 1.0, "rd")`
    """
    a, b = _operands("T.ieee_sub", rounding_mode, (x, y))
    return _added("T.ieee_sub", a, build.neg(b), rounding_mode)


def ieee_mul(x: Any, y: Any, rounding_mode: str = "rn") -> Value:
    """x * y; modes and errors are those of `T.ieee_add`.

    Example: `T.ieee_mul(x, 3.0, "rz")`
    """
    a, b = _operands("T.ieee_mul", rounding_mode, (x, y))
    near = _nearest(a, b, build.const(-0.0, a.dtype))
    if rounding_mode == "rn":
        return near
    beyond = build.sub(build.mul(_wide(a), _wide(b)), _wide(near.expr))
    return _directed(near.expr, beyond, rounding_mode)


def ieee_fmaf(x: Any, y: Any, z: Any, rounding_mode: str = "rn") -> Value:
    """x * y + z, rounded once; modes and errors are those of `T.ieee_add`.

    Example: `T.ieee_fmaf(x, 3.0, 1.0, "ru")`
    """
    a, b, c = _operands("T.ieee_fmaf", rounding_mode, (x, y, z))
    near = _nearest(a, b, c)
    if rounding_mode == "rn":
        return near
    total, lost = _sum(build.mul(_wide(a), _wide(b)), _wide(c))
    directed = _directed(near.expr, _beyond(total, lost, near.expr), rounding_mode)
    zero = build.eq(total, build.const(0.0, f64))  # else a tiny sum has become zero
    sign = _nearest(a, b, build.const(-0.0, f32)).expr
    signed = _signed_zero(directed, (sign, c), rounding_mode).expr
    return Value(build.select(zero, signed, directed.expr))


def ieee_fdiv(x: Any, y: Any, rounding_mode: str = "rn") -> Value:
    """x / y; modes and errors are those of `T.ieee_add`.

    Example: `T.ieee_fdiv(x, 3.0, "rd")`
    """
    a, b = _operands("T.ieee_fdiv", rounding_mode, (x, y))
    return _divided(a, b, rounding_mode)


def _divided(x: Expr, y: Expr, mode: str) -> Value:
    near = state.builder("a rounded quotient").let("rounded", build.div(x, y))
    if mode == "rn":
        return near
    rest = build.sub(_wide(x), build.mul(_wide(near.expr), _wide(y)))
    flipped = build.select(build.lt(y, build.const(0.0, f32)), build.neg(rest), rest)
    return _directed(near.expr, flipped, mode)


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Value:
    """1 / x; modes and errors are those of `T.ieee_add`.

    Example: `T.ieee_frcp(x, "ru")`
    """
    (a,) = _operands("T.ieee_frcp", rounding_mode, (x,))
    return _divided(build.const(1.0, a.dtype), a, rounding_mode)


def ieee_fsqrt(x: Any, rounding_mode: str = "rn") -> Value:
    """The square root; modes and errors are those of `T.ieee_add`.

    Example: `T.ieee_fsqrt(x, "rz")`
    """
    (a,) = _operands("T.ieee_fsqrt", rounding_mode, (x,))
    near = state.builder("T.ieee_fsqrt").let("rounded", build.call("sqrt", [a]))
    if rounding_mode == "rn":
        return near
    root = _wide(near.expr)
    return _directed(near.expr, build.sub(_wide(a), build.mul(root, root)), rounding_mode)


def ieee_frsqrt(x: Any) -> Value:
    """1 / sqrt(x) of a float32, rounded to nearest.

    Raises `TileError` E1503 for another type.
    Example: `T.ieee_frsqrt(x)`
    """
    # float32 only: it is computed in float64. Rounding twice could go wrong near a midpoint; the
    # 2^24 significands of two binades, which repeat, were all checked, and none does.
    (a,) = _operands("T.ieee_frsqrt", "rz", (x,))
    wide = build.div(build.const(1.0, f64), build.call("sqrt", [_wide(a)]))
    return state.builder("T.ieee_frsqrt").let("rounded", build.cast(wide, f32))
