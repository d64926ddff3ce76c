"""Constructors of expressions and regions: types inferred, casts inserted, constants folded.

All that makes IR (tracing, passes, tests) goes through here, so that equal programs get equal
trees. Operands may be Python `bool`, `int` and `float`; they take the type the language gives a
literal next to the other operand. Types that do not mix raise the `TileError`s of
`tile_ir.promotion`.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING, Any

from tile_ir.core import Buffer, Range, Region
from tile_ir.diag import TileError
from tile_ir.expr import (
    Binary,
    Bitcast,
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Ramp,
    Select,
    Slot,
    Unary,
    Var,
)
from tile_ir.fold import fold_binary, fold_unary, simplify_binary, simplify_unary
from tile_ir.functions import FUNCTIONS
from tile_ir.numerics import convert
from tile_ir.promotion import (
    binary_result,
    literal_dtype,
    math_result,
    operand_dtype,
    promote,
    unary_result,
)
from tile_ir.types import DType, bool_, dtype, f64, i32, i64

if TYPE_CHECKING:
    from collections.abc import Sequence

ExprLike = Expr | bool | int | float
RangeLike = Range | ExprLike | tuple[ExprLike, ExprLike]


def const(value: bool | int | float, type_: object = None) -> Expr:
    """A literal of `type_` (any spelling; by default the type of the Python value: bool, i32, f32).

    Floats round to nearest once. A vector type gives a `Broadcast`.

    Raises:
        TileError: E0240 when an integer does not fit, E0241 when a fraction meets an integer type.
    """
    if type(value) not in _PLAIN:
        value = _plain(value)
    t = dtype(type(value) if type_ is None else type_)
    if t.lanes > 1:
        return Broadcast(const(value, t.scalar), t)
    if t.is_float:
        return Const(convert(value, f64 if isinstance(value, float) else i64, t), t)
    if t.is_bool:
        return Const(bool(value), t)
    if isinstance(value, float):
        if not value.is_integer():
            raise TileError("E0241", f"{value} is no value of {t}", help="round or cast it first")
        value = int(value)
    if not t.min_value <= value <= t.max_value:
        raise TileError(
            "E0240",
            f"{value} does not fit in {t}",
            notes=(f"{t} holds {t.min_value} to {t.max_value}",),
            help="use a wider type",
        )
    return Const(int(value), t)


_PLAIN = frozenset({bool, int, float})


def _plain(value: Any) -> bool | int | float:
    """A Python number for a number of another library, or of a subclass."""
    item = getattr(value, "item", None)
    plain = item() if callable(item) else value
    for kind in (int, float):
        if isinstance(plain, kind):
            return plain if type(plain) is bool else kind(plain)
    raise TileError("E0241", f"{value!r} is no bool, integer or float", help="pass one number")


def var(name: str, type_: object = i32) -> Var:
    """A scalar variable, i32 unless said otherwise."""
    return Var(name, dtype(type_))


def as_expr(value: ExprLike, other: Expr | None = None) -> Expr:
    """Return `value` as an expression; a Python literal takes the type it has next to `other`."""
    if isinstance(value, Expr):
        return value
    return const(value, None if other is None else literal_dtype(value, other.dtype))


@cache
def _types(op: str, a: DType, b: DType) -> tuple[DType, DType]:
    """The type both operands are cast to, and the type of the result."""
    if op == "ceildiv":  # rounds up where floordiv rounds down; the types are the same
        op = "floordiv"
    return operand_dtype(op, a, b), binary_result(op, a, b)


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """The operator named `op` (see `tile_ir.expr.Binary`) on operands promoted to one type."""
    if not isinstance(a, Expr):
        a = as_expr(a, b if isinstance(b, Expr) else None)
    if not isinstance(b, Expr):
        b = as_expr(b, a)
    operand, result = _types(op, a.dtype, b.dtype)
    if a.dtype is not operand:
        a = cast(a, operand)
    if b.dtype is not operand:
        b = cast(b, operand)
    if type(a) is Const and type(b) is Const:
        value = fold_binary(op, a.value, b.value, operand)
        if value is not None:
            return Const(value, result)
    simpler = simplify_binary(op, a, b, operand)
    return Binary(op, a, b, result) if simpler is None else simpler


def unary(op: str, a: ExprLike) -> Expr:
    """`neg`, `not`, `bnot` or `abs`; `not` takes any scalar as a truth value."""
    a = as_expr(a)
    result = unary_result(op, a.dtype)
    a = cast(a, result)
    if type(a) is Const:
        value = fold_unary(op, a.value, result)
        if value is not None:
            return Const(value, result)
    simpler = simplify_unary(op, a)
    return Unary(op, a, result) if simpler is None else simpler


def add(a: ExprLike, b: ExprLike) -> Expr:
    """a + b."""
    return binary("add", a, b)


def sub(a: ExprLike, b: ExprLike) -> Expr:
    """a - b."""
    return binary("sub", a, b)


def mul(a: ExprLike, b: ExprLike) -> Expr:
    """a * b."""
    return binary("mul", a, b)


def div(a: ExprLike, b: ExprLike) -> Expr:
    """a / b on floats; two integers are refused as ambiguous (use `floordiv` or `truncdiv`)."""
    return binary("div", a, b)


def floordiv(a: ExprLike, b: ExprLike) -> Expr:
    """The integer quotient rounded down: -7 // 2 == -4."""
    return binary("floordiv", a, b)


def floormod(a: ExprLike, b: ExprLike) -> Expr:
    """The remainder with the divisor's sign: -7 % 2 == 1."""
    return binary("floormod", a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> Expr:
    """The integer quotient rounded towards zero: truncdiv(-7, 2) == -3."""
    return binary("truncdiv", a, b)


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """The remainder with the dividend's sign: truncmod(-7, 2) == -1."""
    return binary("truncmod", a, b)


def ceildiv(a: ExprLike, b: ExprLike) -> Expr:
    """The integer quotient rounded up."""
    return binary("ceildiv", a, b)


def minimum(a: ExprLike, b: ExprLike) -> Expr:
    """The smaller one; a NaN wins."""
    return binary("min", a, b)


def maximum(a: ExprLike, b: ExprLike) -> Expr:
    """The larger one; a NaN wins."""
    return binary("max", a, b)


def bit_and(a: ExprLike, b: ExprLike) -> Expr:
    """a & b."""
    return binary("and", a, b)


def bit_or(a: ExprLike, b: ExprLike) -> Expr:
    """a | b."""
    return binary("or", a, b)


def bit_xor(a: ExprLike, b: ExprLike) -> Expr:
    """a ^ b."""
    return binary("xor", a, b)


def shl(a: ExprLike, b: ExprLike) -> Expr:
    """a << b."""
    return binary("shl", a, b)


def shr(a: ExprLike, b: ExprLike) -> Expr:
    """a >> b, arithmetic on signed types."""
    return binary("shr", a, b)


def lt(a: ExprLike, b: ExprLike) -> Expr:
    """a < b."""
    return binary("lt", a, b)


def le(a: ExprLike, b: ExprLike) -> Expr:
    """a <= b."""
    return binary("le", a, b)


def gt(a: ExprLike, b: ExprLike) -> Expr:
    """a > b."""
    return binary("gt", a, b)


def ge(a: ExprLike, b: ExprLike) -> Expr:
    """a >= b."""
    return binary("ge", a, b)


def eq(a: ExprLike, b: ExprLike) -> Expr:
    """a == b."""
    return binary("eq", a, b)


def ne(a: ExprLike, b: ExprLike) -> Expr:
    """a != b."""
    return binary("ne", a, b)


def land(a: ExprLike, b: ExprLike) -> Expr:
    """Logical and; `b` is evaluated only where `a` holds."""
    return binary("land", a, b)


def lor(a: ExprLike, b: ExprLike) -> Expr:
    """Logical or; `b` is evaluated only where `a` does not hold."""
    return binary("lor", a, b)


def neg(a: ExprLike) -> Expr:
    """-a; refused on unsigned types."""
    return unary("neg", a)


def abs_(a: ExprLike) -> Expr:
    """|a|."""
    return unary("abs", a)


def logical_not(a: ExprLike) -> Expr:
    """Not a."""
    return unary("not", a)


def bit_not(a: ExprLike) -> Expr:
    """~a."""
    return unary("bnot", a)


def select(cond: ExprLike, t: ExprLike, f: ExprLike) -> Expr:
    """`t` where `cond` holds, else `f`, promoted to one type. Only the chosen one is evaluated."""
    cond = as_expr(cond)
    t = as_expr(t, f if isinstance(f, Expr) else None)
    f = as_expr(f, t)
    result = t.dtype if t.dtype is f.dtype else promote(t.dtype, f.dtype)
    t, f = cast(t, result), cast(f, result)
    cond = cast(cond, bool_.with_lanes(cond.dtype.lanes))
    if type(cond) is Const:
        return t if cond.value else f
    return t if t is f else Select(cond, t, f, result)


def cast(a: ExprLike, type_: object) -> Expr:
    """`a` converted to `type_` by the rules of `tile_ir.numerics`; a scalar fills a vector type.

    Raises:
        TileError: E0242 when a vector would change its number of lanes.
    """
    a = as_expr(a)
    t = dtype(type_)
    if a.dtype is t:
        return a
    if a.dtype.lanes != t.lanes:
        if a.dtype.lanes != 1:
            raise TileError(
                "E0242",
                f"{a.dtype} has other lanes than {t}",
                help="convert to as many lanes as the value has",
            )
        return Broadcast(cast(a, t.scalar), t)
    if type(a) is Const:
        return Const(convert(a.value, a.dtype, t), t)
    if type(a) is Broadcast:
        return Broadcast(cast(a.a, t.scalar), t)
    return Cast(a, t)


def bitcast(a: ExprLike, type_: object) -> Expr:
    """The bits of `a` read as `type_`.

    Raises:
        TileError: E0243 when the widths differ.
    """
    a = as_expr(a)
    t = dtype(type_)
    if a.dtype is t:
        return a
    if a.dtype.storage_bits != t.storage_bits:
        raise TileError(
            "E0243",
            f"{a.dtype} has {a.dtype.storage_bits} bits, {t} has {t.storage_bits}",
            help="a bitcast keeps the width; use a cast to convert the value",
        )
    return Bitcast(a, t)


def broadcast(a: ExprLike, lanes: int) -> Expr:
    """`a` in each of `lanes` lanes."""
    a = as_expr(a)
    return a if lanes == 1 else Broadcast(a, a.dtype.with_lanes(lanes))


def ramp(base: ExprLike, stride: int, lanes: int) -> Expr:
    """The vector (base, base + stride, ...) of `lanes` lanes."""
    base = as_expr(base)
    return base if lanes == 1 else Ramp(base, stride, base.dtype.with_lanes(lanes))


def call(fn: str, args: Sequence[ExprLike] = ()) -> Expr:
    """A function of `tile_ir.functions`; integers given to a float function become f32.

    Raises:
        TileError: E0244 for an unknown name, E0245 for a wrong number of arguments, E0246 for a
            float where integers are wanted.
    """
    row = FUNCTIONS.get(fn)
    if row is None:
        raise TileError("E0244", f"there is no function {fn!r}", help="see tile_ir.functions")
    if len(args) != row.arity:
        raise TileError(
            "E0245",
            f"{fn} takes {row.arity} arguments, not {len(args)}",
            help=f"{fn}: {row.doc}",
        )
    typed = next((a for a in args if isinstance(a, Expr)), None)
    exprs = [as_expr(a, typed) for a in args]
    if not exprs:
        return Call(fn, (), dtype(row.result))
    if row.on == "exchange":
        return Call(fn, (exprs[0], *(cast(e, i32) for e in exprs[1:])), exprs[0].dtype)
    types = [e.dtype for e in exprs]
    common = math_result(*types) if row.on == "float" else reduce(promote, types)
    if row.on == "int" and common.is_float:
        raise TileError(
            "E0246",
            f"{fn} works on integers, not on {common}",
            help="convert the value, or reinterpret its bits as an integer of its width",
        )
    if row.result == "lane":
        return Call(fn, tuple(exprs), common.scalar)
    result = common if row.result == "same" else dtype(row.result).with_lanes(common.lanes)
    return Call(fn, tuple(cast(e, common) for e in exprs), result)


def _index(value: ExprLike) -> Expr:
    if type(value) is int:
        return Const(value, i32) if -(1 << 31) <= value < 1 << 31 else Const(value, i64)
    e = as_expr(value)
    if e.dtype.is_bool:
        return cast(e, i32.with_lanes(e.dtype.lanes))
    if not e.dtype.is_int:
        raise TileError("E0247", f"an index is an integer, not {e.dtype}", help="cast it to i32")
    return e


def _indices(buffer: Buffer, indices: Sequence[ExprLike]) -> tuple[Expr, ...]:
    if len(indices) != len(buffer.shape):
        raise _rank(buffer, len(indices))
    return tuple([_index(i) for i in indices])


def _rank(buffer: Buffer, given: int) -> TileError:
    return TileError(
        "E0248",
        f"{buffer.name} has {buffer.rank} axes but is indexed with {given}",
        help="give one index for each axis",
    )


def load(buffer: Buffer, indices: Sequence[ExprLike] = (), slot: Slot | None = None) -> Load:
    """The element of `buffer` at `indices`, one per axis; with a `Ramp` last, one per lane.

    Raises:
        TileError: E0247 for an index that is no integer, E0248 for a wrong number of them.
    """
    exprs = _indices(buffer, indices)
    lanes = exprs[-1].dtype.lanes if exprs else 1
    t = buffer.dtype if lanes == 1 else buffer.dtype.with_lanes(lanes)
    return Load(buffer.name, exprs, t, slot)


def region(buffer: Buffer, ranges: Sequence[RangeLike], slot: Slot | None = None) -> Region:
    """A box of `buffer`: per axis a `Range`, a pair (start, extent), or an index (extent 1).

    Raises:
        TileError: E0247 for a bound that is no integer, E0248 for a wrong number of axes.
    """
    if len(ranges) != len(buffer.shape):
        raise _rank(buffer, len(ranges))
    return Region(buffer.name, tuple([_range(r) for r in ranges]), slot)


def _range(value: RangeLike) -> Range:
    if isinstance(value, Range):
        return value
    if isinstance(value, tuple):
        return Range(_index(value[0]), _index(value[1]))
    return Range(_index(value), Const(1, i32))


def whole(buffer: Buffer, slot: Slot | None = None) -> Region:
    """All of `buffer`."""
    zero = Const(0, i32)
    return Region(buffer.name, tuple([Range(zero, e) for e in buffer.shape]), slot)


def point(buffer: Buffer, indices: Sequence[ExprLike], slot: Slot | None = None) -> Region:
    """One element of `buffer` as a region of unit extents."""
    one = Const(1, i32)
    ranges = tuple([Range(i, one) for i in _indices(buffer, indices)])
    return Region(buffer.name, ranges, slot)
