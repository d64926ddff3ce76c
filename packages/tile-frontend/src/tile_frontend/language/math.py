"""Scalar functions. They take traced values, elements and Python numbers, and give traced values.

Functions of real numbers compute in the type of their argument and take integers as float32. Where
all arguments are Python ints, the integer functions give a Python int, so that they serve for grid
extents too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.vectors import Lanes, bits_as, lanes_of
from tile_frontend.trace.element_types import ir_dtype
from tile_frontend.trace.logic import truth
from tile_frontend.trace.tensors import shape_of
from tile_frontend.trace.values import Value, binary, dtype, expr_of, lift, unwrap
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Bitcast
from tile_ir.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType

_UNARY = {
    "exp": "exp", "exp2": "exp2", "exp10": "exp10", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "nearbyint": "round", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite", "popcount": "popcount", "clz": "clz", "fast_rcp": "fast_rcp",
    "__exp": "fast_exp", "__exp10": "fast_exp10", "__log": "fast_log", "__log2": "fast_log2",
    "__log10": "fast_log10", "__sin": "fast_sin", "__cos": "fast_cos", "__tan": "fast_tan",
}  # fmt: skip
_BINARY = ("pow", "fmod", "atan2", "copysign", "hypot", "nextafter")


def _call(fn: str, *args: object) -> Value:
    exprs = [lift(a) for a in args]
    return Value(build.call(fn, exprs))


def _named(name: str, fn: str) -> Callable[..., Value]:
    row = FUNCTIONS[fn]
    if row.arity == 1:

        def function(x: Any) -> Value:
            return _call(fn, x)
    else:

        def function(x: Any, y: Any) -> Value:  # type: ignore[misc]  # one of two arities
            return _call(fn, x, y)

    kind = {"float": "a float (integers become float32)", "int": "an integer"}[row.on]
    args = "x" if row.arity == 1 else "x, x"
    if row.on == "int":
        args = "I[0, 0]"
    function.__name__ = function.__qualname__ = name
    result = "the type of its argument" if row.result == "same" else row.result
    function.__doc__ = f"""{row.doc[0].upper()}{row.doc[1:]}.

    Takes {kind}, gives {result}.

    Raises `TileError` E1207 for what is no scalar{
        ", E0246 for a float" if row.on == "int" else ""
    }.
    Example: `T.{name}({args})`
    """
    return function


for _name, _fn in _UNARY.items():
    globals()[_name] = _named(_name, _fn)
for _name in _BINARY:
    globals()[_name] = _named(_name, _name)


def _ints(*args: object) -> bool:
    return all(type(a) is int for a in args)


def _divisor(b: int) -> int:
    """The divisor of Python ints. Raises `TileError` E0505 for zero."""
    if b == 0:
        raise TileError(
            "E0505",
            "an integer is divided by zero",
            notes=("both sides are numbers of Python, known while the kernel is traced",),
            help="pass another divisor; a size of a block is at least 1",
        )
    return b


def ceildiv(a: Any, b: Any) -> Any:
    """The ceiling of a / b for integers of any sign: ceildiv(7, -3) == -2.

    Raises `TileError` E0204 for floats, E0505 where Python ints are divided by zero.
    Example: `T.ceildiv(100, 32)`
    """
    return -(-a // _divisor(b)) if _ints(a, b) else unwrap_int(binary("ceildiv", a, b))


cdiv = ceildiv


def floordiv(a: Any, b: Any) -> Any:
    """The integer quotient rounded down: floordiv(-7, 2) == -4.

    Raises `TileError` E0204 for floats, E0505 where Python ints are divided by zero.
    Example: `T.floordiv(I[0, 0], 2)`
    """
    return a // _divisor(b) if _ints(a, b) else binary("floordiv", a, b)


def floormod(a: Any, b: Any) -> Any:
    """The remainder with the divisor's sign: floormod(-7, 2) == 1.

    Raises `TileError` E0204 for floats, E0505 where Python ints are divided by zero.
    Example: `T.floormod(I[0, 0], 2)`
    """
    return a % _divisor(b) if _ints(a, b) else binary("floormod", a, b)


def truncdiv(a: Any, b: Any) -> Any:
    """The integer quotient rounded towards zero: truncdiv(-7, 2) == -3.

    Raises `TileError` E0204 for floats.
    Example: `T.truncdiv(I[0, 0], 2)`
    """
    return unwrap_int(binary("truncdiv", a, b))


def truncmod(a: Any, b: Any) -> Any:
    """The remainder with the dividend's sign: truncmod(-7, 2) == -1.

    Raises `TileError` E0204 for floats.
    Example: `T.truncmod(I[0, 0], 2)`
    """
    return unwrap_int(binary("truncmod", a, b))


def unwrap_int(value: Value) -> Any:
    """A folded integer as a Python int, anything else as it is."""
    return unwrap(value.expr)


def align_up(x: Any, y: Any) -> Any:
    """The least multiple of y not below x.

    Raises `TileError` E0204 for floats.
    Example: `T.align_up(100, 32)`
    """
    return ceildiv(x, y) * y


def max(a: Any, b: Any) -> Any:
    """The larger one, in the common type; a NaN wins on every target.

    Raises `TileError` E0202 for types that do not mix.
    Example: `T.max(x, 0.0)`
    """
    return (b if b > a else a) if _ints(a, b) else binary("max", a, b)


def min(a: Any, b: Any) -> Any:
    """The smaller one, in the common type; a NaN wins on every target.

    Raises `TileError` E0202 for types that do not mix.
    Example: `T.min(x, 1.0)`
    """
    return (b if b < a else a) if _ints(a, b) else binary("min", a, b)


def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """min(max(x, lo), hi). A NaN stays a NaN.

    Raises `TileError` E0202 for types that do not mix.
    Example: `T.clamp(x, -1.0, 1.0)`
    """
    return min(max(x, lo), hi)


def abs(x: Any) -> Any:
    """The absolute value, in the type of x.

    Raises `TileError` E1207 for what is no scalar.
    Example: `T.abs(x)`
    """
    return Value(build.abs_(expr_of(x)))


fabs = abs


def round(x: Any, rounding_mode: str = "ties-to-even") -> Value:
    """The nearest integer as a float; half-way cases go to the even one.

    Raises `TileError` E1503 for another rounding mode.
    Example: `T.round(x)`
    """
    if rounding_mode != "ties-to-even":
        raise TileError(
            "E1503",
            f"T.round has rounding_mode={rounding_mode!r}",
            help="T.floor, T.ceil and T.trunc round in other directions",
        )
    return _call("round", x)


def sigmoid(x: Any) -> Value:
    """1 / (1 + exp(-x)), in the type of x.

    Raises `TileError` E1207 for what is no scalar.
    Example: `T.sigmoid(x)`
    """
    e = build.call("exp", [build.neg(expr_of(x))])
    one = build.const(1, e.dtype)
    return Value(build.div(one, build.add(one, e)))


def ldexp(x: Any, n: Any) -> Value:
    """x times 2 to the n, in the type of x.

    Raises `TileError` E1207 for what is no scalar.
    Example: `T.ldexp(x, 3)`
    """
    a = expr_of(x)
    return Value(build.mul(a, build.call("exp2", [build.cast(expr_of(n), a.dtype)])))


def fma(x: Any, y: Any, z: Any) -> Value:
    """x * y + z, rounded once.

    Raises `TileError` E1207 for what is no scalar.
    Example: `T.fma(x, x, 1.0)`
    """
    return _call("fma", x, y, z)


def if_then_else(cond: Any, t: Any, f: Any) -> Any:
    """t where cond holds, else f, in their common type. Only the chosen one is evaluated.

    Raises `TileError` E0202 for types that do not mix.
    Example: `T.if_then_else(x > 0.0, x, 0.0)`
    """
    if isinstance(cond, bool):
        return t if cond else f
    return Value(build.select(truth(cond), lift(t), lift(f)))


def Select(cond: Any, t: Any, f: Any) -> Value:
    """t where cond holds, else f; both must have one type.

    Raises `TileError` E1211 when the types differ.
    Example: `T.Select(x > 0.0, x, x * 2.0)`
    """
    a = lift(t)
    left = expr_of(t, f.expr if isinstance(f, Value) else None)
    right = expr_of(f, left)
    if left.dtype is not right.dtype:
        raise TileError(
            "E1211",
            f"T.Select chooses between {left.dtype} and {right.dtype}",
            help="convert one with T.cast, or use T.if_then_else, which converts by itself",
        )
    return Value(build.select(truth(cond), a, right))


def cast(
    value: Any,
    dtype: Any,
    round: str = "",
    sat: bool = True,
    rbits: Any = None,
) -> Value:
    """`value` in another element type: floats round to nearest even, float to integer truncates.

    Finite values beyond the range of an 8-bit or narrower float become its largest finite value.

    Raises `TileError` E1503 for round= or sat=False, which exist on some hardware only.
    Example: `T.cast(x, T.float16)`
    """
    if round or not sat or rbits is not None:
        raise TileError(
            "E1503", "T.cast takes no round=, sat=False or rbits= here", help="leave them out"
        )
    return _dtype(dtype)(value)


def Cast(dtype: Any, value: Any) -> Value:
    """`T.cast` with its arguments the other way round.

    Raises `TileError` E0201 for an unknown element type.
    Example: `T.Cast("float16", x)`
    """
    return _dtype(dtype)(value)


def _dtype(spelling: Any) -> dtype:
    return dtype.of(ir_dtype(spelling))


def reinterpret(value: Any, dtype: Any) -> Value:
    """The bits of `value` read as another element type of equal width.

    A vector may become one of other lanes: its bits follow each other, the first lane the lowest.

    Raises `TileError` E0243 when the widths differ.
    Example: `T.reinterpret(x, T.int32)`
    """
    if dtype == "handle":  # what fills the place of an address that nothing looks at
        return Value(expr_of(value))
    made = build.bitcast(expr_of(value), ir_dtype(dtype))
    if isinstance(made, Bitcast) and (made.a.dtype.lanes > 1 or made.dtype.lanes > 1):
        lanes = bits_as(lanes_of(value), made.dtype.scalar)
        return Value(lanes[0]) if len(lanes) == 1 else Lanes(lanes)
    return Value(made)


def _float(spelling: Any, what: str) -> DType:
    found = ir_dtype(spelling)
    if not found.is_float:
        raise TileError(
            "E1212", f"{what} of {found}", help="integers have T.max_value and T.min_value"
        )
    return found


def infinity(dtype: Any) -> Value:
    """Plus infinity of a float type (its largest finite value where the format has none).

    Raises `TileError` E1212 for an integer type.
    Example: `T.infinity(T.float32)`
    """
    return Value(build.cast(build.const(float("inf"), "f64"), _float(dtype, "T.infinity")))


def max_value(dtype: Any) -> Value:
    """The largest finite value of a type.

    Raises `TileError` E0201 for an unknown type.
    Example: `T.max_value(T.float16)`
    """
    found = ir_dtype(dtype)
    return Value(build.const(found.max_value, found))


def min_value(dtype: Any) -> Value:
    """The smallest finite value of a type.

    Raises `TileError` E0201 for an unknown type.
    Example: `T.min_value(T.int8)`
    """
    found = ir_dtype(dtype)
    return Value(build.const(found.min_value, found))


def shift_left(x: Any, y: Any) -> Any:
    """x << y on integers.

    Raises `TileError` E0205 for floats.
    Example: `T.shift_left(I[0, 0], 2)`
    """
    return binary("shl", x, y)


def shift_right(x: Any, y: Any) -> Any:
    """x >> y on integers; the sign is kept on signed types.

    Raises `TileError` E0205 for floats.
    Example: `T.shift_right(I[0, 0], 2)`
    """
    return binary("shr", x, y)


def bitwise_and(x: Any, y: Any) -> Any:
    """x & y on integers.

    Raises `TileError` E0205 for floats.
    Example: `T.bitwise_and(I[0, 0], 1)`
    """
    return binary("and", x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """x | y on integers.

    Raises `TileError` E0205 for floats.
    Example: `T.bitwise_or(I[0, 0], 1)`
    """
    return binary("or", x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """x ^ y on integers.

    Raises `TileError` E0205 for floats.
    Example: `T.bitwise_xor(I[0, 0], 1)`
    """
    return binary("xor", x, y)


def bitwise_not(x: Any) -> Value:
    """~x on integers.

    Raises `TileError` E0205 for floats.
    Example: `T.bitwise_not(I[0, 0])`
    """
    return Value(build.bit_not(expr_of(x)))


def likely(x: Any) -> Any:
    """x itself; a hint without effect.

    Raises nothing.
    Example: `T.likely(x > 0.0)`
    """
    return x


def Ramp(base: Any, stride: int, lanes: int) -> Value:
    """The vector (base, base + stride, ...); as the last index of a buffer it makes a vector
    access.

    Raises `TileError` E0201 for an impossible number of lanes.
    Example: `T.Ramp(0, 1, 4)`
    """
    return Value(build.ramp(expr_of(base), stride, lanes))


def Broadcast(value: Any, lanes: int) -> Value:
    """One scalar in each of `lanes` lanes.

    Raises `TileError` E0201 for an impossible number of lanes.
    Example: `T.Broadcast(x, 4)`
    """
    return Value(build.broadcast(expr_of(value), lanes))


def index_to_coordinates(index: Any, shape: Any) -> list[Value]:
    """The coordinates of flat row-major position `index` in a box of `shape`.

    Raises `TileError` E1107 for a bad extent.
    Example: `T.index_to_coordinates(10, (4, 8))`
    """
    rest = expr_of(index)
    out: list[Value] = []
    for extent in reversed(shape_of(shape, "T.index_to_coordinates")[1:]):
        out.insert(0, Value(build.floormod(rest, extent)))
        rest = build.floordiv(rest, extent)
    return [Value(rest), *out]


def ldg(src: Any, *indices: Any) -> Any:
    """An element, read through the read-only cache where a device has one.

    Raises `TileError` E1201 for a wrong number of indices.
    Example: `T.__ldg(A[0, 0])`
    """
    return src[indices] if indices else src


globals()["__ldg"] = ldg

__all__ = sorted(
    [
        *(_UNARY), *(_BINARY), "__ldg",
        "Broadcast", "Cast", "Ramp", "Select", "abs", "align_up", "bitwise_and", "bitwise_not",
        "bitwise_or", "bitwise_xor", "cast", "cdiv", "ceildiv", "clamp", "fabs", "floordiv",
        "floormod", "fma", "if_then_else", "index_to_coordinates", "infinity", "ldexp", "likely",
        "max", "max_value", "min", "min_value", "reinterpret", "round", "shift_left",
        "shift_right", "sigmoid", "truncdiv", "truncmod",
    ]
)  # fmt: skip
