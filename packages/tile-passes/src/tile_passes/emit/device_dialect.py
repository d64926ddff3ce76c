"""C++ for devices, as targets with a prelude of `tile_` functions write it: how every type is
carried, converted, loaded and stored.

A value is carried in a type that C++ computes in: the narrow floats as float (rounded back after
every operation), 4-bit integers as bytes. Memory holds the narrow form. A vector is a `tile_vec`;
what is done to one is the scalar text inside a lambda for every lane, so there is one rule for
both.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.types import DType, f4e2m1fn, f32, f64, i4, i8, i64, u4, u8, u64
from tile_passes.emit.dialect import INFIX, Dialect

__all__ = ["Words", "carrier_type", "device_dialect", "is_narrow", "is_packed", "storage_type"]

NIBBLES = frozenset({i4, u4, f4e2m1fn})
"""Types of which memory holds two in a byte."""
_C_TYPES = {
    "bool": "bool",
    "i8": "signed char",
    "u8": "unsigned char",
    "i16": "short",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned",
    "i64": "long long",
    "u64": "unsigned long long",
    "f32": "float",
    "f64": "double",
}
_CALLS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod", "ceildiv", "min", "max"})
_LETTERS = "abc"

CallText = Callable[[str, DType, tuple[str, ...]], tuple[str, bool]]
"""Function, carried type of the result, arguments -> text, and whether the result is of the
arguments' own type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the languages say differently; each is a text with {} for the operand.

    `to_f32` and the like reinterpret bits, of 32-bit integers as f32, of 64-bit ones as f64, and
    back; `abs_f32` and `abs_f64` are magnitudes.
    """

    call: CallText
    to_f32: str
    to_f64: str
    from_f32: str
    from_f64: str
    abs_f32: str
    abs_f64: str


def is_packed(dtype: DType) -> bool:
    """Whether memory holds two of them in a byte."""
    return dtype.scalar in NIBBLES


def is_narrow(dtype: DType) -> bool:
    """Whether it is a float that C++ does not compute in."""
    return dtype.is_float and dtype.scalar not in (f32, f64)


@cache
def carrier_type(dtype: DType) -> DType:
    """The type, of as many lanes, in which C++ computes with values of `dtype`."""
    one = dtype.scalar
    if is_narrow(one):
        one = f32
    elif one in NIBBLES:
        one = i8 if one is i4 else u8
    return one.with_lanes(dtype.lanes)


@cache
def _carrier(dtype: DType) -> str:
    one = _C_TYPES[carrier_type(dtype).scalar.name]
    return one if dtype.lanes == 1 else f"tile_vec<{one}, {dtype.lanes}>"


@cache
def storage_type(dtype: DType) -> str:
    """The C++ type of one element in memory; codes of narrow floats are unsigned integers."""
    one = dtype.scalar
    if one.name == "tf32":
        text = "float"
    elif one.is_bool or one.name not in _C_TYPES:
        text = "unsigned short" if one.slot_bits == 16 else "unsigned char"
    else:
        text = _C_TYPES[one.name]
    return text if dtype.lanes == 1 else f"tile_vec<{text}, {dtype.lanes}>"


# -- literals


def _float_text(words: Words, value: float, double: bool) -> str:
    if math.isinf(value) or math.isnan(value):
        if double:
            bits = struct.unpack("<q", struct.pack("<d", value))[0]
            return words.to_f64.format(bits if bits >= 0 else f"({bits + 1} - 1)")
        return words.to_f32.format(hex(struct.unpack("<I", struct.pack("<f", value))[0]))
    text = repr(value)
    if (
        not double
        and _same_f32(text, value)
        and struct.unpack("<f", struct.pack("<f", value))[0] == value
    ):
        short = (f"{value:.{digits}g}" for digits in range(6, 10))
        text = min((t for t in short if _same_f32(t, value)), key=len)
    if not any(c in text for c in ".e"):
        text += ".0"
    return text + ("" if double else "f")


def _same_f32(text: str, value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", float(text)))[0] == value)
    except OverflowError:
        return False


def _literal(words: Words, e: Expr) -> str:
    assert isinstance(e, Const)
    if e.dtype.is_float:
        return _float_text(words, float(e.value), e.dtype is f64)
    value = int(e.value)
    if e.dtype.is_bool:
        return "true" if value else "false"
    if e.dtype.is_signed and value == e.dtype.min_value and e.dtype.bits >= 32:
        return f"(-{-(value + 1)}{'ll' if e.dtype is i64 else ''} - 1)"
    if e.dtype is u64:
        return f"{value}u" if value < 1 << 32 else f"{value}ull"
    if e.dtype is i64 and abs(value) >= 1 << 31:
        return f"{value}ll"
    return f"{value}u" if not e.dtype.is_signed and value >= 1 << 31 else str(value)


# -- operators


def _lift(lanes: int, text: str, *args: str) -> str:
    """The text, written in a, b, c, for every lane of the arguments."""
    names = ", ".join(f"auto {letter}" for letter in _LETTERS[: len(args)])
    return "tile_map([](" + names + f") {{ return {text}; }}, {', '.join(args)})"


def _infix(op: str, dtype: DType) -> bool:
    if op not in INFIX or op in _CALLS or dtype.lanes > 1:
        return False
    return not (op == "shl" and dtype.is_signed)


def _operator(op: str, dtype: DType, a: str, b: str) -> str:
    if dtype.lanes > 1:
        text = (
            f"a {INFIX[op].sign} b"
            if _infix(op, dtype.scalar)
            else _scalar(op, dtype.scalar, "a", "b")
        )
        if op not in ("land", "lor") and not _is_comparison(op):
            text = _normalize(dtype.scalar, text)
        return _lift(dtype.lanes, text, a, b)
    return _scalar(op, dtype, a, b)


def _is_comparison(op: str) -> bool:
    return op in ("lt", "le", "gt", "ge", "eq", "ne")


def _scalar(op: str, dtype: DType, a: str, b: str) -> str:
    carrier = carrier_type(dtype)
    name = _C_TYPES[carrier.name]
    if op in ("min", "max"):
        if carrier.is_float:
            return f"tile_{op}_{carrier.name}({a}, {b})"
        return f"tile_i{op}<{name}>({a}, {b})"
    if op == "shl":
        wide = "unsigned long long" if carrier.bits == 64 else "unsigned"
        return _normalize(dtype, f"({name})(({wide})({a}) << ({b}))")
    return _normalize(dtype, _division(op, name, a, b))


def _division(op: str, name: str, a: str, b: str) -> str:
    """Shifts and masks for powers of two, which round as floor* do; C's own for other constants
    where it rounds as asked."""
    value = int(b) if b.isdigit() else 0
    # Operands come bare, as to a function: they may bind less than the operators here.
    held = a if a.isidentifier() else f"({a})"
    if value > 0 and op in ("floordiv", "floormod") and value & (value - 1) == 0:
        by = f">> {value.bit_length() - 1}" if op == "floordiv" else f"& {value - 1}"
        return f"({held} {by})"
    if value > 0 and op in ("truncdiv", "truncmod"):
        return f"({held} {'/' if op == 'truncdiv' else '%'} {b})"
    return f"tile_{op}<{name}>({a}, {b})"


def _unary(words: Words, op: str, dtype: DType, a: str) -> str:
    if dtype.lanes > 1:
        return _lift(dtype.lanes, _unary(words, op, dtype.scalar, "a"), a)
    if op == "not" or (op == "bnot" and dtype.is_bool):
        return f"!{a}"
    if op == "bnot":
        return _normalize(dtype, f"~{a}")
    if op == "neg":
        return f"-{a}" if dtype.is_float else _normalize(dtype, f"-{a}")
    carrier = carrier_type(dtype)
    if carrier.is_float:
        return (words.abs_f64 if carrier is f64 else words.abs_f32).format(a)
    return _normalize(dtype, f"tile_iabs<{_C_TYPES[carrier.name]}>({a})")


def _normalize(dtype: DType, text: str) -> str:
    """A computed text brought back to the values of a scalar type."""
    if (
        dtype.lanes > 1
        or dtype in (f32, f64)
        or dtype.is_bool
        or (dtype.is_int and dtype.bits >= 32)
    ):
        return text
    if dtype.is_float:
        return decode(dtype, encode(dtype, text, f32))
    if dtype.bits == 4:
        return f"tile_wrap_{dtype.name}({text})"
    return f"({_carrier(dtype)})({text})"


# -- conversions


def encode(dtype: DType, text: str, src: DType) -> str:
    """The code of a narrow float from a carried float or double, rounded once."""
    if dtype.lanes == 1:
        return f"tile_{src.name}_to_{dtype.name}({text})"
    if dtype.scalar.name in ("f16", "bf16") and src.scalar is f32 and dtype.lanes % 2 == 0:
        return f"tile_encode_{dtype.scalar.name}({text})"
    return _lift(dtype.lanes, encode(dtype.scalar, "a", src.scalar), text)


def decode(dtype: DType, text: str) -> str:
    """The carried float from the code of a narrow float; tf32 is an f32 already."""
    if dtype.scalar.name == "tf32":
        return text
    if dtype.lanes > 1:
        return _lift(dtype.lanes, decode(dtype.scalar, "a"), text)
    return f"tile_{dtype.name}_to_f32({text})"


def _cast(src: DType, dst: DType, text: str) -> str:
    if src.lanes > 1:
        one = _cast(src.scalar, dst.scalar, "a")
        return text if one == "a" else _lift(src.lanes, one, text)
    if src is dst:
        return text
    if dst.is_bool:
        return f"({text} != 0)"
    a = carrier_type(src)
    if is_narrow(dst):
        return decode(dst, _rounded(a, dst, text))
    if a.is_float and dst.is_int:
        return _truncated(a, dst, text)
    to = carrier_type(dst)
    if dst.bits == 4:
        return f"tile_wrap_{dst.name}((int){text})"
    return text if a is to else f"({_C_TYPES[to.name]}){text}"


def _rounded(a: DType, dst: DType, text: str) -> str:
    if a in (f32, f64):
        return encode(dst, text, a)
    if a.bits == 64:
        return encode(dst, f"tile_wide_{a.name}({text})", f64)
    wide = f64 if a.bits > 16 else f32
    return encode(dst, f"({_C_TYPES[wide.name]}){text}", wide)


def _truncated(a: DType, dst: DType, text: str) -> str:
    if dst.bits >= 32:
        return f"tile_{a.name}_to_{dst.name}({text})"
    limits = f"{int(dst.min_value)}, {int(dst.max_value)}"
    return f"({_carrier(dst)})tile_limit<{limits}>(tile_{a.name}_to_i32({text}))"


def _write_converts(src: DType, dst: DType) -> bool:
    return src.is_float and is_narrow(dst) and carrier_type(src).scalar is f32


def _bitcast(words: Words, src: DType, dst: DType, text: str) -> str:
    if src.lanes > 1 or dst.lanes > 1:
        raise InternalError("E9001", f"bitcast of vectors {src} to {dst}")
    if is_narrow(src) and src.name != "tf32":
        bits = encode(src, text, f32)
    elif carrier_type(src) is f32:
        bits = words.from_f32.format(text)
    elif src is f64:
        bits = words.from_f64.format(text)
    else:
        bits = text
    if not dst.is_float:
        to = f"({_carrier(dst)}){bits}"
        return _normalize(dst, to) if dst.bits < 8 else f"({to})"
    if is_narrow(dst) and dst.name != "tf32":
        return decode(dst, bits)
    return (words.to_f64 if dst is f64 else words.to_f32).format(bits)


# -- memory


def _read(dtype: DType, array: str, offset: str) -> str:
    if is_packed(dtype):
        if dtype.lanes > 1:
            raise InternalError("E9001", f"a vector of {dtype.scalar} is computed with")
        code = f"tile_load_nibble({array}, {offset})"
        if dtype.is_float:
            return decode(dtype, code)
        return f"tile_wrap_i4({code})" if dtype is i4 else code
    if dtype.lanes == 1:
        element = f"{array}[{offset}]"
        if dtype.is_bool:
            return f"({element} != 0)"
        return decode(dtype, element) if is_narrow(dtype) else element
    vector = f"tile_load<{dtype.lanes}>(&{array}[{offset}])"
    if dtype.is_bool:
        return _lift(dtype.lanes, "a != 0", vector)
    return decode(dtype, vector) if is_narrow(dtype) else vector


def _write(dtype: DType, array: str, offset: str, value: str) -> str:
    if is_narrow(dtype):
        value = encode(dtype, value, f32.with_lanes(dtype.lanes))
    if is_packed(dtype):
        return f"tile_store_nibble({array}, {offset}, (unsigned char)({value}))"
    if dtype.lanes == 1:
        return f"{array}[{offset}] = {value}"
    if dtype.is_bool:
        value = _lift(dtype.lanes, "(unsigned char)a", value)
    return f"tile_store(&{array}[{offset}], {value})"


def _array_length(dtype: DType, count: int) -> int:
    return -(-count // 2) if is_packed(dtype) else count


# -- the rest


def _select(dtype: DType, cond: str, t: str, f: str) -> str:
    return _lift(dtype.lanes, "a ? b : c", cond, t, f)


def _call(words: Words, fn: str, dtype: DType, args: tuple[str, ...]) -> str:
    if dtype.lanes > 1 and not fn.endswith("_lanes"):
        one = _call(words, fn, dtype.scalar, tuple(_LETTERS[: len(args)]))
        return _lift(dtype.lanes, one, *args)
    text, is_value = words.call(fn, carrier_type(dtype), args)
    return _normalize(dtype.scalar, text) if is_value else text


def _ramp(dtype: DType, base: str, stride: int) -> str:
    kind = _C_TYPES[dtype.scalar.name]
    return f"tile_ramp<{dtype.lanes}>(({kind})({base}), ({kind}){stride})"


def _broadcast(dtype: DType, text: str) -> str:
    return f"tile_splat<{dtype.lanes}>(({_carrier(dtype.scalar)})({text}))"


def device_dialect(words: Words) -> Dialect:
    """The tables and functions above as the emitter takes them."""
    return Dialect(
        storage=storage_type,
        carrier=_carrier,
        literal=partial(_literal, words),
        infix=_infix,
        operator=_operator,
        unary=partial(_unary, words),
        normalize=_normalize,
        cast=_cast,
        bitcast=partial(_bitcast, words),
        select=_select,
        call=partial(_call, words),
        read=_read,
        write=_write,
        ramp=_ramp,
        broadcast=_broadcast,
        write_converts=_write_converts,
        array_length=_array_length,
        index_type="long long",
        qualifiers={"local": "alignas(16) "},
    )
