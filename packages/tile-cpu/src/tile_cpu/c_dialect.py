"""C as this target writes it: how every type is carried, converted, loaded and stored.

A value is carried in a type that C computes in: the narrow floats as float (rounded back after
every operation), 4-bit integers as bytes, truth values of vectors as 32-bit masks. Memory holds the
narrow form. Functions named here are those of the prelude; the emitter pastes what a kernel's text
mentions.
"""

from __future__ import annotations

from functools import cache

from tile_cpu.c_literals import literal
from tile_ir.diag import InternalError
from tile_ir.types import (
    DType,
    bool_,
    f4e2m1fn,
    f4e2m1fn_unpacked,
    f32,
    f64,
    i4,
    i8,
    i16,
    i32,
    i64,
    u4,
    u8,
    u16,
)
from tile_passes.emit.dialect import COMPARISONS, INFIX, Dialect

__all__ = ["DIALECT", "LANE_FUNCTIONS", "carrier_type", "gathered_near", "is_packed"]

NIBBLES = frozenset({i4, u4, f4e2m1fn})
"""Types of which memory holds two in a byte."""
LANE_FUNCTIONS = {f"{name}_lanes": f"h{name}" for name in ("sum", "max", "min", "and", "or", "xor")}
"""Functions across the lanes of a vector -> the stem of their name in the prelude."""
_NAMES = {"f32": "float", "f64": "double"}
_OF_MASKS = {"lt": ">", "le": ">=", "gt": "<", "ge": "<="}
_CALLS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod", "ceildiv", "min", "max"})


def is_packed(dtype: DType) -> bool:
    """Whether memory holds two of them in a byte."""
    return dtype.scalar in NIBBLES


@cache
def carrier_type(dtype: DType) -> DType:
    """The type, of as many lanes, in which C computes with values of `dtype`."""
    one = dtype.scalar
    if one.is_float:
        one = f64 if one is f64 else f32
    elif one.is_bool:
        one = i32 if dtype.lanes > 1 else bool_
    elif one in NIBBLES:
        one = i8 if one is i4 else u8
    return one.with_lanes(dtype.lanes)


def _c_type(dtype: DType) -> str:
    if dtype.lanes > 1:
        return dtype.name
    if dtype.is_float:
        return _NAMES[dtype.name]
    return "_Bool" if dtype.is_bool else f"{'int' if dtype.is_signed else 'uint'}{dtype.bits}_t"


@cache
def _carrier(dtype: DType) -> str:
    return _c_type(carrier_type(dtype))


@cache
def _storage(dtype: DType) -> str:
    if dtype.lanes > 1:
        return dtype.name
    if dtype.name in _NAMES:
        return _NAMES[dtype.name]
    if dtype.name == "tf32":
        return "float"
    signed = dtype.is_int and dtype.is_signed and not is_packed(dtype)
    return f"{'int' if signed else 'uint'}{max(8, dtype.slot_bits)}_t"


# -- operators


def _infix(op: str, dtype: DType) -> bool:
    if op not in INFIX or op in _CALLS:
        return False
    if dtype.lanes == 1:
        return not (op in ("shl", "shr") and dtype.is_signed and op == "shl")
    if op in ("land", "lor") or dtype.is_bool:
        return False
    # A comparison gives a mask as wide as its operands; only 32 bits are our form of it.
    return not (op in COMPARISONS and carrier_type(dtype).bits != 32)


def _operator(op: str, dtype: DType, a: str, b: str) -> str:
    if dtype.lanes > 1:
        return _vector_operator(op, dtype, a, b)
    carrier = carrier_type(dtype)
    if op in ("min", "max"):
        kind = "" if carrier.is_float else "i"
        return f"tile_{kind}{op}_{_suffix(carrier)}({a}, {b})"
    if op == "shl":
        c = _carrier(dtype)
        return _normalize(dtype, f"({c})((u{c})({a}) << ({b}))")
    return _normalize(dtype, f"tile_{op}_{_suffix(carrier)}({a}, {b})")


def _suffix(carrier: DType) -> str:
    return "u8" if carrier.is_bool else carrier.name


def _vector_operator(op: str, dtype: DType, a: str, b: str) -> str:
    carrier = carrier_type(dtype)
    if op in ("land", "lor"):
        return f"(({a}) {'&' if op == 'land' else '|'} ({b}))"
    if op in COMPARISONS:
        if dtype.is_bool:  # true is -1 in a mask: what is larger is smaller
            return f"(({a}) {_OF_MASKS.get(op, INFIX[op].sign)} ({b}))"
        text = f"(({a}) {INFIX[op].sign} ({b}))"
        return text if carrier.bits == 32 else _to_lanes(text, i32.with_lanes(dtype.lanes))
    if dtype.is_bool:  # bit operators on masks
        sign = {"and": "&", "or": "|", "xor": "^", "min": "&", "max": "|"}[op]
        return f"(({a}) {sign} ({b}))"
    return _normalize(dtype, f"tile_{op}_{carrier.name}({a}, {b})")


def _to_lanes(text: str, dtype: DType) -> str:
    return f"__builtin_convertvector({text}, {dtype.name})"


def _unary(op: str, dtype: DType, a: str) -> str:
    carrier = carrier_type(dtype)
    if op == "not":
        return f"~{a}" if dtype.lanes > 1 else f"!{a}"
    if op == "bnot":
        if dtype.is_bool:
            return f"!{a}" if dtype.lanes == 1 else f"~{a}"
        return _normalize(dtype, f"~{a}")
    if op == "neg":
        return _normalize(dtype, f"-{a}") if not dtype.is_float else f"-{a}"
    kind = "" if carrier.is_float or dtype.lanes > 1 else "i"
    return _normalize(dtype, f"tile_{kind}abs_{carrier.name}({a})")


@cache
def _normal_form(dtype: DType) -> str | None:
    """The function that brings a computed value back to `dtype`; None when C's arithmetic does."""
    one = dtype.scalar
    if one in (f32, f64) or (one.is_int and one.bits >= 32) or one.is_bool:
        return None
    if one.is_float:
        return "round"
    if one.bits == 4:
        return "wrap"
    return "cast" if dtype.lanes == 1 else None


def _normalize(dtype: DType, text: str) -> str:
    form = _normal_form(dtype)
    if form is None:
        return text
    if form == "cast":
        return f"({_carrier(dtype)})({text})"
    if form == "wrap":
        return f"tile_wrap_{dtype.name}({text})"
    return decode(dtype, encode(dtype, text, f32))


# -- conversions


def encode(dtype: DType, text: str, src: DType) -> str:
    """The bits of a narrow float from a carried float or double, rounded once; as they came, where
    they were just read."""
    bits = _undecoded(dtype, text) if src is f32 else None
    if bits is not None:
        return bits
    if dtype.scalar.name == "tf32":
        text = text if src.scalar is f32 else _narrow_double(text, dtype)
        return f"tile_round_tf32{_lanes(dtype)}({text})"
    return f"tile_{src.scalar.name}_to_{_code_of(dtype).name}({text})"


def decode(dtype: DType, text: str) -> str:
    """The carried float from the bits of a narrow float."""
    if dtype.scalar.name == "tf32":
        return text
    return f"tile_{_code_of(dtype).scalar.name}_to_{f32.with_lanes(dtype.lanes).name}({text})"


def _undecoded(dtype: DType, text: str) -> str | None:
    """The bits in a text that is nothing but their decoding."""
    before = decode(dtype, "")[:-1]
    if dtype.scalar.name == "tf32" or not text.startswith(before):
        return None
    inner, depth = text[len(before) : -1], 0
    for sign in inner:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return None
    return inner if text.endswith(")") else None


def _code_of(dtype: DType) -> DType:
    """The type whose codes the values of a narrow float have: 4 bits in a byte are 4 bits."""
    return f4e2m1fn.with_lanes(dtype.lanes) if dtype.scalar is f4e2m1fn_unpacked else dtype


def _narrow_double(text: str, dtype: DType) -> str:
    return f"tile_f64_to_f32_odd{_lanes(dtype)}({text})"


def _lanes(dtype: DType) -> str:
    return "" if dtype.lanes == 1 else f"x{dtype.lanes}"


def _is_narrow(dtype: DType) -> bool:
    return dtype.is_float and dtype.scalar not in (f32, f64)


def _cast(src: DType, dst: DType, text: str) -> str:
    a, to = carrier_type(src), carrier_type(dst)
    if dst.is_bool:
        return _to_bool(a, text)
    if src.is_bool:
        text = _bool_to_int(src, text)
        a = i32.with_lanes(src.lanes)
    if a.is_float and not to.is_float:
        return _normalize(dst, f"tile_{a.scalar.name}_to_{to.name}({text})")
    if not to.is_float:
        return _normalize(dst, _convert(a, to, text)) if dst.bits < 8 else _convert(a, to, text)
    if not _is_narrow(dst):
        return _convert(a, to, text)
    if _fits(src, dst):
        return _convert(a, to, text)
    # Integers from 2**24 on, which f32 rounds, exceed the smaller types whichever way.
    rounds = a.is_int and a.bits > 16 and dst.max_finite >= 2**24
    wide = f64 if rounds or a.scalar is f64 else f32
    return decode(dst, encode(dst, _convert(a, wide.with_lanes(a.lanes), text), wide))


def _fits(src: DType, dst: DType) -> bool:
    """Whether every value of `src` is one of the narrow float type `dst`."""
    if src.is_bool:
        return dst.max_finite >= 1 and dst.is_signed
    if src.scalar is dst.scalar:
        return True
    if src.format is None or dst.format is None:
        return False
    return dst.name.startswith("tf32") and src.bits <= 16


def _convert(a: DType, to: DType, text: str) -> str:
    if a is to:
        return text
    if a.lanes == 1:
        return f"({_c_type(to)}){text}"
    if a.bits == 16 and to.bits == 32:
        text = f"tile_widen_{a.name}({text})"
        # Both signs fit in i32, which every machine makes floats of.
        return (
            _to_lanes(f"({i32.with_lanes(a.lanes).name}){text}", to)
            if to.is_float
            else f"(({to.name}){text})"
        )
    if to.is_float and a.is_int and a.bits < 32:
        # Compilers widen and convert whole vectors, but some go from bytes to floats lane by lane.
        text = _to_lanes(text, i32.with_lanes(a.lanes))
    return _to_lanes(text, to)


def _to_bool(a: DType, text: str) -> str:
    if a.is_bool:
        return text
    if a.lanes == 1:
        return f"({text} != 0)"
    mask = f"({text} != 0)"
    return mask if a.bits == 32 else _to_lanes(mask, i32.with_lanes(a.lanes))


def _bool_to_int(src: DType, text: str) -> str:
    return f"-{text}" if src.lanes > 1 else f"(int32_t){text}"


def _write_converts(src: DType, dst: DType) -> bool:
    return src.is_float and _is_narrow(dst) and carrier_type(src).scalar is f32


def _bitcast(src: DType, dst: DType, text: str) -> str:
    if src.lanes > 1 or dst.lanes > 1:
        return _bitcast_lanes(src, dst, text)
    bits = f"tile_bits_{src.name}({text})" if src.is_float and not _is_narrow(src) else text
    if _is_narrow(src):
        bits = encode(src, text, f32) if src.name != "tf32" else f"tile_bits_f32({text})"
    if not dst.is_float:
        return (
            _normalize(dst, f"({_carrier(dst)}){bits}")
            if dst.bits < 8
            else f"(({_carrier(dst)}){bits})"
        )
    if not _is_narrow(dst):
        return f"tile_from_bits_{dst.name}({bits})"
    return f"tile_from_bits_f32({bits})" if dst.name == "tf32" else decode(dst, bits)


def _bitcast_lanes(src: DType, dst: DType, text: str) -> str:
    """As many lanes of the same width; a cast of C between vectors of one size keeps the bits."""
    if src.lanes != dst.lanes or dst.bits < 8 or src.is_bool or dst.is_bool:
        raise InternalError("E9001", f"bitcast of vectors {src} to {dst}")
    bits = encode(src, text, f32) if _is_narrow(src) and src.scalar.name != "tf32" else text
    if _is_narrow(dst) and dst.scalar.name != "tf32":
        code = (u8 if dst.bits == 8 else u16).with_lanes(dst.lanes)
        return decode(dst, f"(({code.name})({bits}))")
    return f"(({_carrier(dst)})({bits}))"


# -- memory


def _read(dtype: DType, array: str, offset: str) -> str:
    if is_packed(dtype):
        nibble = f"tile_load_{dtype.name}({array}, {offset})"
        return decode(dtype, nibble) if dtype.is_float else nibble
    if dtype.lanes == 1:
        element = f"{array}[{offset}]"
        if dtype.is_bool:
            return f"({element} != 0)"
        return decode(dtype, element) if _is_narrow(dtype) else element
    if dtype.is_bool:
        bytes_ = f"tile_load_{u8.with_lanes(dtype.lanes).name}(&{array}[{offset}])"
        return f"({_to_lanes(bytes_, i32.with_lanes(dtype.lanes))} != 0)"
    vector = f"tile_load_{_kept_as(dtype).name}(&{array}[{offset}])"
    return decode(dtype, vector) if _is_narrow(dtype) else vector


def _gather(dtype: DType, first: str, places: str) -> str:
    vector = f"tile_gather_{_kept_as(dtype).name}({first}, {places})"
    return decode(dtype, vector) if _is_narrow(dtype) else vector


def gathered_near(
    dtype: DType, array: str, offset: str, width: int, places: tuple[int, ...]
) -> str:
    """Elements `places` of the `width` elements from an offset on, a power of two; where `width` is
    1, that one in every lane."""
    kept = _kept_as(dtype)
    if width == 1:
        vector = f"tile_splat_{kept.name}({array}[{offset}])"
    else:
        window = kept.scalar.with_lanes(width).name
        lanes = ", ".join(map(str, places))
        vector = f"tile_load_{window}(&{array}[{offset}])"
        vector = f"__builtin_shufflevector({vector}, ({window}){{0}}, {lanes})"
    return decode(dtype, vector) if _is_narrow(dtype) else vector


def _write(dtype: DType, array: str, offset: str, value: str) -> str:
    if _is_narrow(dtype):
        value = encode(dtype, value, f32)
    if is_packed(dtype):
        return f"tile_store_{dtype.name}({array}, {offset}, {value})"
    if dtype.lanes == 1:
        return f"{array}[{offset}] = {value}"
    if dtype.is_bool:
        bytes_ = u8.with_lanes(dtype.lanes)
        return f"tile_store_{bytes_.name}(&{array}[{offset}], {_to_lanes(f'-({value})', bytes_)})"
    return f"tile_store_{_kept_as(dtype).name}(&{array}[{offset}], {value})"


def write_past_caches(dtype: DType, array: str, offset: str, value: str, when: str) -> str:
    """The store of a vector, past the caches where `when` holds and the address is aligned."""
    if dtype.is_bool:
        dtype = u8.with_lanes(dtype.lanes)
        value = _to_lanes(f"-({value})", dtype)
    elif _is_narrow(dtype):
        value = encode(dtype, value, f32)
    return f"tile_stream_{_kept_as(dtype).name}(&{array}[{offset}], {value}, {when})"


_KEPT_AS = {"tf32": f32, f4e2m1fn_unpacked.name: u8}


def _kept_as(dtype: DType) -> DType:
    """The type, of as many lanes, that memory holds of types without loads of their own."""
    return _KEPT_AS.get(dtype.scalar.name, dtype.scalar).with_lanes(dtype.lanes)


def _array_length(dtype: DType, count: int) -> int:
    return -(-count // 2) if is_packed(dtype) else count


# -- the rest


def _select(dtype: DType, cond: str, t: str, f: str) -> str:
    carrier = carrier_type(dtype)
    if dtype.is_bool:
        return f"((({t}) & ({cond})) | (({f}) & ~({cond})))"
    if carrier.bits != 32:
        cond = _to_lanes(cond, _MASKS[carrier.bits].with_lanes(carrier.lanes))
    return f"tile_select_{carrier.name}({cond}, {t}, {f})"


_MASKS = {8: i8, 16: i16, 64: i64}
"""Width of a carrier other than 32 bits -> the integer that masks it."""


_PREDICATES = ("isnan", "isinf", "isfinite")


def _call(fn: str, dtype: DType, args: tuple[str, ...]) -> str:
    if fn == "device_workers":
        return "rt->threads"
    carrier = carrier_type(dtype)
    inner = ", ".join(args)
    if fn in LANE_FUNCTIONS:
        return _normalize(dtype.scalar, f"tile_{LANE_FUNCTIONS[fn]}_{carrier.name}({inner})")
    text = f"tile_{fn.removeprefix('fast_')}_{carrier.name}({inner})"
    if fn in _PREDICATES:  # a lane says yes by all of its bits, a number by 1
        return text if dtype.lanes > 1 else f"({text} != 0)"
    return text if fn in ("popcount", "clz") else _normalize(dtype, text)


def _ramp(dtype: DType, base: str, stride: int) -> str:
    iota = f"tile_iota_{dtype.name}()"
    steps = iota if stride == 1 else f"{iota} * {stride}"
    return f"(({base}) + {steps})"


def _broadcast(dtype: DType, text: str) -> str:
    carrier = carrier_type(dtype)
    if dtype.is_bool:
        mask = f"-{text}" if text in ("0", "1") else f"-(int32_t)({text})"
        return f"tile_splat_{carrier.name}({mask})"
    return f"tile_splat_{carrier.name}({text})"


DIALECT = Dialect(
    storage=_storage,
    carrier=_carrier,
    literal=literal,
    infix=_infix,
    operator=_operator,
    unary=_unary,
    normalize=_normalize,
    cast=_cast,
    bitcast=_bitcast,
    select=_select,
    call=_call,
    read=_read,
    gather=_gather,
    write=_write,
    ramp=_ramp,
    broadcast=_broadcast,
    write_converts=_write_converts,
    array_length=_array_length,
)
"""The tables and functions above as the emitter takes them."""
