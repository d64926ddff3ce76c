"""C++ for devices, as targets with a prelude of `tile_` functions write it: how every type is
carried, converted, loaded and stored.

A value is carried in a type that C++ computes in: the narrow floats as float (rounded back after
every operation), 4-bit integers as bytes. Memory holds the narrow form. A vector is a `tile_vec`;
what is done to one is the scalar text inside a lambda (or what the language has instead) for every
lane, so there is one rule for both.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType

from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.types import DType, f4e2m1fn, f32, f64, i4, i8, i64, u4, u8, u64
from tile_passes.emit.dialect import INFIX, Dialect

__all__ = [
    "C_TYPES",
    "Words",
    "carrier_type",
    "device_dialect",
    "is_narrow",
    "is_packed",
    "storage_type",
    "with_lambda",
]

NIBBLES = frozenset({i4, u4, f4e2m1fn})
"""Types of which memory holds two in a byte."""
C_TYPES: Mapping[str, str] = MappingProxyType(
    {
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
)
"""Type -> its name in C++."""
_CALLS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod", "ceildiv", "min", "max"})
_LETTERS = "abc"

CallText = Callable[[str, DType, tuple[str, ...]], tuple[str, bool]]
"""Function, carried type of the result, arguments -> text, and whether the result is of the
arguments' own type."""
Apply = Callable[[str, str, tuple[str, ...]], str]
"""Function of the prelude, a text in a, b, c, arguments -> the text of calling the first with a
function that computes the second."""


def with_lambda(function: str, text: str, args: tuple[str, ...]) -> str:
    """The call with a lambda of as many letters as there are arguments."""
    names = ", ".join(f"auto {letter}" for letter in _LETTERS[: len(args)])
    return f"{function}([]({names}) {{ return {text}; }}, {', '.join(args)})"


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
    types: Mapping[str, str] = field(default_factory=lambda: C_TYPES)
    long_suffix: str = "ll"
    """Of a literal of 64 bits."""
    doubles: bool = True
    """Whether f64 is there; if not, integers become narrow floats by way of `tile_TYPE_to_odd`."""
    apply: Apply = with_lambda
    spaces: Mapping[str, str] = field(default_factory=dict)
    """Scope of memory -> the words in front of the type that a pointer into it points to."""
    typed: str = "{}<{}>"
    """A function of the prelude for one type; without templates, a name made of both."""
    limit: str = "tile_limit<{}, {}>({})"
    """An i32 limited to a range: lowest, highest, operand."""
    array_words: str = "alignas(16) "
    """What stands in front of an array of a thread, which wide accesses may touch."""


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


def _carrier(words: Words, dtype: DType) -> str:
    one = words.types[carrier_type(dtype).scalar.name]
    return one if dtype.lanes == 1 else f"tile_vec<{one}, {dtype.lanes}>"


def storage_type(dtype: DType) -> str:
    """The C++ type of one element in memory; codes of narrow floats are unsigned integers."""
    return _storage(C_TYPES, dtype)


def _storage(types: Mapping[str, str], dtype: DType) -> str:
    one = dtype.scalar
    if one.name == "tf32":
        text = "float"
    elif one.is_bool or one.name not in types:
        text = "unsigned short" if one.slot_bits == 16 else "unsigned char"
    else:
        text = types[one.name]
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
        return f"(-{-(value + 1)}{words.long_suffix if e.dtype is i64 else ''} - 1)"
    if e.dtype is u64:
        return f"{value}u" if value < 1 << 32 else f"{value}u{words.long_suffix}"
    if e.dtype is i64 and abs(value) >= 1 << 31:
        return f"{value}{words.long_suffix}"
    return f"{value}u" if not e.dtype.is_signed and value >= 1 << 31 else str(value)


# -- operators


def _lift(words: Words, text: str, *args: str) -> str:
    """The text, written in a, b, c, for every lane of the arguments."""
    return words.apply("tile_map", text, args)


def _infix(op: str, dtype: DType) -> bool:
    if op not in INFIX or op in _CALLS or dtype.lanes > 1:
        return False
    # A small literal of 64 bits is written as one of 32: the shift has to say how wide it is.
    return not (op == "shl" and (dtype.is_signed or dtype is u64))


def _operator(words: Words, op: str, dtype: DType, a: str, b: str) -> str:
    if dtype.lanes > 1:
        text = (
            f"a {INFIX[op].sign} b"
            if _infix(op, dtype.scalar)
            else _scalar(words, op, dtype.scalar, "a", "b")
        )
        if op not in ("land", "lor") and not _is_comparison(op):
            text = _normalize(words, dtype.scalar, text)
        return _lift(words, text, a, b)
    return _scalar(words, op, dtype, a, b)


def _is_comparison(op: str) -> bool:
    return op in ("lt", "le", "gt", "ge", "eq", "ne")


def _scalar(words: Words, op: str, dtype: DType, a: str, b: str) -> str:
    carrier = carrier_type(dtype)
    name = words.types[carrier.name]
    if op in ("min", "max"):
        if carrier.is_float:
            return f"tile_{op}_{carrier.name}({a}, {b})"
        return f"{words.typed.format(f'tile_i{op}', name)}({a}, {b})"
    if op == "shl":
        wide = words.types["u64" if carrier.bits == 64 else "u32"]
        return _normalize(words, dtype, f"({name})(({wide})({a}) << ({b}))")
    return _normalize(words, dtype, _division(words.typed.format(f"tile_{op}", name), op, a, b))


def _division(call: str, op: str, a: str, b: str) -> str:
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
    return f"{call}({a}, {b})"


def _unary(words: Words, op: str, dtype: DType, a: str) -> str:
    if dtype.lanes > 1:
        return _lift(words, _unary(words, op, dtype.scalar, "a"), a)
    if op == "not" or (op == "bnot" and dtype.is_bool):
        return f"!{a}"
    if op == "bnot":
        return _normalize(words, dtype, f"~{a}")
    if op == "neg":
        return f"-{a}" if dtype.is_float else _normalize(words, dtype, f"-{a}")
    carrier = carrier_type(dtype)
    if carrier.is_float:
        return (words.abs_f64 if carrier is f64 else words.abs_f32).format(a)
    call = words.typed.format("tile_iabs", words.types[carrier.name])
    return _normalize(words, dtype, f"{call}({a})")


def _normalize(words: Words, dtype: DType, text: str) -> str:
    """A computed text brought back to the values of a scalar type."""
    if (
        dtype.lanes > 1
        or dtype in (f32, f64)
        or dtype.is_bool
        or (dtype.is_int and dtype.bits >= 32)
    ):
        return text
    if dtype.is_float:
        return decode(words, dtype, encode(words, dtype, text, f32))
    if dtype.bits == 4:
        return f"tile_wrap_{dtype.name}({text})"
    return f"({_carrier(words, dtype)})({text})"


# -- conversions


def encode(words: Words, dtype: DType, text: str, src: DType) -> str:
    """The code of a narrow float from a carried float or double, rounded once."""
    if dtype.lanes == 1:
        return f"tile_{src.name}_to_{dtype.name}({text})"
    if dtype.scalar.name in ("f16", "bf16") and src.scalar is f32 and dtype.lanes % 2 == 0:
        return f"tile_encode_{dtype.scalar.name}({text})"
    return _lift(words, encode(words, dtype.scalar, "a", src.scalar), text)


def decode(words: Words, dtype: DType, text: str) -> str:
    """The carried float from the code of a narrow float; tf32 is an f32 already."""
    if dtype.scalar.name == "tf32":
        return text
    if dtype.lanes > 1:
        return _lift(words, decode(words, dtype.scalar, "a"), text)
    return f"tile_{dtype.name}_to_f32({text})"


def _cast(words: Words, src: DType, dst: DType, text: str) -> str:
    if src.lanes > 1:
        one = _cast(words, src.scalar, dst.scalar, "a")
        return text if one == "a" else _lift(words, one, text)
    if src is dst:
        return text
    if dst.is_bool:
        return f"({text} != 0)"
    a = carrier_type(src)
    if is_narrow(dst):
        return decode(words, dst, _rounded(words, a, dst, text))
    if a.is_float and dst.is_int:
        return _truncated(words, a, dst, text)
    to = carrier_type(dst)
    if dst.bits == 4:
        return f"tile_wrap_{dst.name}((int){text})"
    return text if a is to else f"({words.types[to.name]}){text}"


_EXACT_IN_F32 = 2**24
"""Integers up to here are numbers of f32."""


def _rounded(words: Words, a: DType, dst: DType, text: str) -> str:
    if a in (f32, f64):
        return encode(words, dst, text, a)
    if dst.max_finite < _EXACT_IN_F32:
        # A larger integer exceeds the type whichever way it is rounded before.
        return encode(words, dst, f"({words.types[f32.name]}){text}", f32)
    if not words.doubles and a.bits > 16:
        return encode(words, dst, f"tile_{a.name}_to_odd({text})", f32)
    if a.bits == 64:
        return encode(words, dst, f"tile_wide_{a.name}({text})", f64)
    wide = f64 if a.bits > 16 else f32
    return encode(words, dst, f"({words.types[wide.name]}){text}", wide)


def _truncated(words: Words, a: DType, dst: DType, text: str) -> str:
    if dst.bits >= 32:
        return f"tile_{a.name}_to_{dst.name}({text})"
    whole = f"tile_{a.name}_to_i32({text})"
    limited = words.limit.format(int(dst.min_value), int(dst.max_value), whole)
    return f"({_carrier(words, dst)}){limited}"


def _write_converts(src: DType, dst: DType) -> bool:
    return src.is_float and is_narrow(dst) and carrier_type(src).scalar is f32


def _bitcast(words: Words, src: DType, dst: DType, text: str) -> str:
    if src.lanes > 1 or dst.lanes > 1:
        raise InternalError("E9001", f"bitcast of vectors {src} to {dst}")
    if is_narrow(src) and src.name != "tf32":
        bits = encode(words, src, text, f32)
    elif carrier_type(src) is f32:
        bits = words.from_f32.format(text)
    elif src is f64:
        bits = words.from_f64.format(text)
    else:
        bits = text
    if not dst.is_float:
        to = f"({_carrier(words, dst)}){bits}"
        return _normalize(words, dst, to) if dst.bits < 8 else f"({to})"
    if is_narrow(dst) and dst.name != "tf32":
        return decode(words, dst, bits)
    return (words.to_f64 if dst is f64 else words.to_f32).format(bits)


# -- memory


def _read(words: Words, dtype: DType, array: str, offset: str) -> str:
    if is_packed(dtype):
        if dtype.lanes > 1:
            raise InternalError("E9001", f"a vector of {dtype.scalar} is computed with")
        code = f"tile_load_nibble({array}, {offset})"
        if dtype.is_float:
            return decode(words, dtype, code)
        return f"tile_wrap_i4({code})" if dtype is i4 else code
    if dtype.lanes == 1:
        element = f"{array}[{offset}]"
        if dtype.is_bool:
            return f"({element} != 0)"
        return decode(words, dtype, element) if is_narrow(dtype) else element
    vector = f"tile_load<{dtype.lanes}>(&{array}[{offset}])"
    if dtype.is_bool:
        return _lift(words, "a != 0", vector)
    return decode(words, dtype, vector) if is_narrow(dtype) else vector


def _write(words: Words, dtype: DType, array: str, offset: str, value: str) -> str:
    if is_narrow(dtype):
        value = encode(words, dtype, value, f32.with_lanes(dtype.lanes))
    if is_packed(dtype):
        return f"tile_store_nibble({array}, {offset}, (unsigned char)({value}))"
    if dtype.lanes == 1:
        return f"{array}[{offset}] = {value}"
    if dtype.is_bool:
        value = _lift(words, "(unsigned char)a", value)
    return f"tile_store(&{array}[{offset}], {value})"


def _array_length(dtype: DType, count: int) -> int:
    return -(-count // 2) if is_packed(dtype) else count


# -- the rest


def _select(words: Words, dtype: DType, cond: str, t: str, f: str) -> str:
    return _lift(words, "a ? b : c", cond, t, f)


def _call(words: Words, fn: str, dtype: DType, args: tuple[str, ...]) -> str:
    if dtype.lanes > 1 and not fn.endswith("_lanes"):
        one = _call(words, fn, dtype.scalar, tuple(_LETTERS[: len(args)]))
        return _lift(words, one, *args)
    text, is_value = words.call(fn, carrier_type(dtype), args)
    return _normalize(words, dtype.scalar, text) if is_value else text


def _ramp(words: Words, dtype: DType, base: str, stride: int) -> str:
    kind = words.types[dtype.scalar.name]
    return f"tile_ramp<{dtype.lanes}>(({kind})({base}), ({kind}){stride})"


def _broadcast(words: Words, dtype: DType, text: str) -> str:
    return f"tile_splat<{dtype.lanes}>(({_carrier(words, dtype.scalar)})({text}))"


def device_dialect(words: Words) -> Dialect:
    """The tables and functions above as the emitter takes them."""
    return Dialect(
        storage=cache(partial(_storage, words.types)),
        carrier=cache(partial(_carrier, words)),
        literal=partial(_literal, words),
        infix=_infix,
        operator=partial(_operator, words),
        unary=partial(_unary, words),
        normalize=partial(_normalize, words),
        cast=partial(_cast, words),
        bitcast=partial(_bitcast, words),
        select=partial(_select, words),
        call=partial(_call, words),
        read=partial(_read, words),
        write=partial(_write, words),
        ramp=partial(_ramp, words),
        broadcast=partial(_broadcast, words),
        write_converts=_write_converts,
        array_length=_array_length,
        index_type=words.types["i64"],
        qualifiers={"local": words.array_words},
        spaces=words.spaces,
    )
