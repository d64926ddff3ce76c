"""Which type an operator computes in: the one table behind builder, verifier and constant folding.

Two types meet in a common type (`promote`): the wider wins, a float wins over any integer, unsigned
wins over signed of equal width. Where no type serves both operands well the user must cast, and the
error says so. `operand_dtype` is what both operands are cast to before an operator, `binary_result`
what it yields.
"""

from __future__ import annotations

from tile_ir.diag import InternalError, TileError
from tile_ir.types import DType, Kind, bool_, f16, f32, f64, i4, i8, i16, i32, i64, tf32, u64

__all__ = [
    "BINARY_OPS",
    "UNARY_OPS",
    "binary_result",
    "literal_dtype",
    "math_result",
    "operand_dtype",
    "promote",
    "unary_result",
]

_ARITHMETIC = frozenset({"add", "sub", "mul", "div"})
_INTEGER_DIVISION = frozenset({"floordiv", "floormod", "ceildiv", "truncdiv", "truncmod"})
_EXTREMA = frozenset({"min", "max"})
_BITWISE = frozenset({"and", "or", "xor"})
_SHIFTS = frozenset({"shl", "shr"})
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_LOGICAL = frozenset({"land", "lor"})

BINARY_OPS = (
    _ARITHMETIC | _INTEGER_DIVISION | _EXTREMA | _BITWISE | _SHIFTS | _COMPARISONS | _LOGICAL
)
"""Every binary operator that has a result type."""

UNARY_OPS = frozenset({"neg", "not", "bnot", "abs"})
"""Every unary operator that has a result type."""


def promote(a: DType, b: DType) -> DType:
    """Return the common type of two operands. Commutative, and `promote(a, a) is a`.

    bool gives way to any number, an integer to any float however narrow. Of two integers the wider
    wins; of equal width, the unsigned. Of two floats the wider wins; f16 wins over bf16; tf32
    counts as f32. Lanes are equal, or one side is a scalar that is broadcast.

    Raises:
        TileError: E0202 for two different float formats of at most 8 bits, and for unequal lanes.
    """
    if a is b:
        return a
    lanes = _common_lanes(a, b)
    return _promote_scalars(a.scalar, b.scalar).with_lanes(lanes)


def _common_lanes(a: DType, b: DType) -> int:
    if a.lanes != b.lanes and 1 not in (a.lanes, b.lanes):
        raise TileError(
            "E0202",
            f"{a} and {b} have different numbers of lanes",
            notes=["an operator works lane by lane; only a scalar is broadcast"],
            help=f"give both operands {max(a.lanes, b.lanes)} lanes",
        )
    return max(a.lanes, b.lanes)


def _promote_scalars(a: DType, b: DType) -> DType:
    if a is b:
        return a
    a, b = (f32 if t is tf32 else t for t in (a, b))
    if a.is_float and b.is_float:
        return _promote_floats(a, b)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind is Kind.UINT else b


def _promote_floats(a: DType, b: DType) -> DType:
    if a.bits <= 8 and b.bits <= 8:
        # Two names of one format hold the same numbers, so either could win: the packed one does.
        if a.format == b.format:
            return a if a.slot_bits < b.slot_bits else b
        raise TileError(
            "E0202",
            f"{a} and {b} have no common type",
            notes=["neither format holds every value of the other, and a wider one is your choice"],
            help=f"cast one operand, e.g. both to {f16}",
        )
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return f16 if f16 in (a, b) else a


def literal_dtype(value: bool | int | float, other: DType) -> DType:
    """Return the scalar type that a Python literal takes where it meets an operand of type `other`.

    The result type of the operator is then decided by `promote` as for any two types. A float
    literal is f32, or f64 beside f64; so f16 + 1.0 is f32. An int literal is `other` beside a
    float; so f16 + 1 is f16; else it is i32, or the first of i64 and u64 that holds it; so u8 + 1
    is i32.

    Raises:
        TileError: E0202 when `other` is no float and no integer type holds `value`.
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return f64 if other.scalar is f64 else f32
    if other.is_float:
        return f32 if other.scalar is tf32 else other.scalar
    for candidate in (i32, i64, u64):
        if candidate.min_value <= value <= candidate.max_value:
            return candidate
    raise TileError(
        "E0202",
        f"the integer {_short(value)} and {other} have no common type",
        notes=["the widest integers are i64 and u64"],
        help="use a float literal, or compute the number from smaller ones",
    )


def _short(value: int) -> str:
    # Decimal digits of huge integers cost quadratic time, and Python refuses more than 4300.
    return str(value) if value.bit_length() <= 256 else f"of {value.bit_length()} bits"


def operand_dtype(op: str, a: DType, b: DType) -> DType:
    """Return the type that both operands of the binary operator `op` are cast to.

    Arithmetic on two bools counts in i32, and on tf32 is done in f32: only matrix units compute in
    tf32. A shift count never makes a signed value unsigned, so `shr` of a signed operand stays
    arithmetic.

    Raises:
        TileError: E0202 no common type; E0203 `div` of integers; E0204 integer division of floats;
            E0205 bit operation on a float.
        InternalError: `op` is none of `BINARY_OPS`.
    """
    if op not in BINARY_OPS:
        raise InternalError("E9001", f"unknown binary operator {op!r}")
    if op in _LOGICAL:
        return bool_.with_lanes(_common_lanes(a, b))
    _refuse(op, a, b)
    common = promote(a, b)
    if op in _SHIFTS and a.kind is Kind.INT and common.kind is Kind.UINT:
        common = _SIGNED[common.bits].with_lanes(common.lanes)
    computes = op in _ARITHMETIC or op in _INTEGER_DIVISION or op in _SHIFTS
    return _computed_in(common) if computes else common


_SIGNED = {t.bits: t for t in (i4, i8, i16, i32, i64)}


def _computed_in(common: DType) -> DType:
    by_scalar = {bool_: i32, tf32: f32}
    return by_scalar.get(common.scalar, common.scalar).with_lanes(common.lanes)


def _refuse(op: str, a: DType, b: DType) -> None:
    any_float = a.is_float or b.is_float
    if op == "div" and not any_float:
        raise TileError(
            "E0203",
            f"{a} / {b}: division of integers is ambiguous",
            notes=["Python's / gives a float, C's an integer rounded towards zero"],
            help="write // (rounds down), truncdiv (rounds towards zero), or cast one to a float",
        )
    if op in _INTEGER_DIVISION and any_float:
        raise TileError(
            "E0204",
            f"{op} of {a} and {b}: // and % are for integers",
            help="write floor(x / y) for the quotient, fmod(x, y) for the remainder",
        )
    if (op in _BITWISE or op in _SHIFTS) and any_float:
        raise _bits_of_float(op, a if a.is_float else b)


def _bits_of_float(op: str, operand: DType) -> TileError:
    return TileError(
        "E0205",
        f"bit operation {op!r} on {operand}",
        notes=["bit operations are for integers and bool"],
        help="cast the value, or reinterpret its bits as an unsigned integer",
    )


def binary_result(op: str, a: DType, b: DType) -> DType:
    """Return the type of `a op b`: bool for comparisons and `land`/`lor`, else `operand_dtype`.

    Raises:
        TileError, InternalError: as `operand_dtype`.
    """
    computed = operand_dtype(op, a, b)
    return bool_.with_lanes(computed.lanes) if op in _COMPARISONS else computed


def unary_result(op: str, a: DType) -> DType:
    """Return the type of a unary operator: bool for `not`, i32 for `neg` of a bool, else `a`.

    Raises:
        TileError: E0205 `bnot` of a float; E0206 `neg` of a type without negative numbers.
        InternalError: `op` is none of `UNARY_OPS`.
    """
    if op not in UNARY_OPS:
        raise InternalError("E9001", f"unknown unary operator {op!r}")
    if op == "not":
        return bool_.with_lanes(a.lanes)
    if op == "bnot" and a.is_float:
        raise _bits_of_float(op, a)
    if op != "neg":
        return a
    if a.is_bool:
        return i32.with_lanes(a.lanes)
    if not a.is_signed:
        raise TileError(
            "E0206",
            f"unary minus on {a}, which holds no negative numbers",
            help="cast to a signed type first, or write 0 - x if wrap-around is meant",
        )
    return a


def math_result(*operands: DType) -> DType:
    """Return the type in which a math function (exp, sqrt, pow, ...) takes and gives its values.

    Integers and bools become f32, tf32 becomes f32, any other float keeps its type; several
    operands are promoted first.

    Raises:
        TileError: E0202 when the operands have no common type.
        InternalError: no operand was given.
    """
    if not operands:
        raise InternalError("E9001", "a math function has at least one operand")
    common = operands[0]
    for other in operands[1:]:
        common = promote(common, other)
    keeps = common.is_float and common.scalar is not tf32
    return common if keeps else f32.with_lanes(common.lanes)
