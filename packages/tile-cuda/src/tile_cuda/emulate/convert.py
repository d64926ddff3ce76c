"""Comparisons, selections, moves and conversions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.emulate.operands import HALVES, ROUNDING, kind_of, number, set_result, sources
from tile_cuda.emulate.values import Value, any_of, bits_of, carrier, signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_cuda.emulate.values import Context

__all__ = ["CHOICES"]

COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
ROUND_FLOAT = {"rn": "EMU_NEAREST", **ROUNDING}
ROUND_INTEGER = {"rni": "EMU_NEAREST", "rzi": "EMU_ZERO", "rmi": "EMU_DOWN", "rpi": "EMU_UP"}
BYTES = {"e4m3x2": 0, "e5m2x2": 1}


def _compare(c: Context) -> None:
    """setp and set: a comparison, combined with a predicate where there is one more operand."""
    parts, kind = c.instruction.parts, kind_of(c)
    operands = c.instruction.operands
    a, b = c.read(operands[1], kind), c.read(operands[2], kind)
    text = _comparison(parts[1], kind, a, b)
    values = [a, b]
    join = next((p for p in parts[2:-1] if p in ("and", "or", "xor")), None)
    names = operands[0].split("|")
    second = f"!({text})"
    if join:
        other = c.read(operands[3], "pred")
        values.append(other)
        sign = {"and": "&", "or": "|", "xor": "^"}[join]
        second = f"({second}) {sign} {other.text}"
        text = f"({text}) {sign} {other.text}"
    mask = any_of("pred", *values)
    if len(names) > 1:
        c.line(f"{{ u8 second_ = {second};")
        c.write(names[0], text, mask)
        c.write(names[1], "second_", mask)
        c.line("}")
    elif parts[0] == "set":
        one = "B32(1.0f)" if parts[-2] == "f32" else "~0u"
        c.write(names[0], f"({text}) ? {one} : 0u", any_of("b32", *values))
    else:
        c.write(names[0], text, mask)


def _comparison(name: str, kind: str, a: Value, b: Value) -> str:
    is_float = kind[0] == "f" or kind.startswith("bf")
    if kind in HALVES:
        x, y = (f"{HALVES[kind]}((u16){v.text})" for v in (a, b))
    else:
        unsigned = "u" + kind[1:] if name in ("lo", "ls", "hi", "hs") else kind
        x, y = number(a, unsigned), number(b, unsigned)
    if name in ("num", "nan"):
        return f"{'!' if name == 'num' else ''}__builtin_isunordered({x}, {y})"
    if is_float and name.endswith("u") and name[:-1] in COMPARISONS:
        return f"__builtin_isunordered({x}, {y}) || {x} {COMPARISONS[name[:-1]]} {y}"
    if is_float and name == "ne":
        return f"!__builtin_isunordered({x}, {y}) && {x} != {y}"
    return f"{x} {COMPARISONS[name]} {y}"


def _select(c: Context) -> None:
    kind = kind_of(c)
    a, b = (c.read(o, kind) for o in c.instruction.operands[1:3])
    p = c.read(c.instruction.operands[3], "pred")
    mask = any_of(kind, p)
    if (a.mask, b.mask) != ("0", "0"):
        mask = f"({p.text} ? {a.mask} : {b.mask}) | {mask}"
    c.write(c.instruction.operands[0], f"{p.text} ? {a.text} : {b.text}", mask)


def _move(c: Context) -> None:
    kind = kind_of(c)
    to, source = c.instruction.operands
    if to.startswith("{"):
        names = c.names(to)
        part = bits_of(kind) // len(names)
        value = c.read(source, kind)
        c.line(f"{{ {carrier(kind)} w_ = {value.text}, x_ = {value.mask};")
        for i, name in enumerate(names):
            c.write(name, f"(u{part})(w_ >> {part * i})", f"(u{part})(x_ >> {part * i})")
        c.line("}")
    elif source.startswith("{"):
        values = c.several(source, kind)
        part, wide = bits_of(kind) // len(values), carrier(kind)
        joined = [
            " | ".join(f"({wide})(u{part}){x} << {part * i}" for i, x in enumerate(xs) if x != "0")
            for xs in ([v.text for v in values], [v.mask for v in values])
        ]
        c.write(to, joined[0], joined[1] or "0")
    else:
        value = c.read(source, kind)
        c.write(to, value.text, value.mask)


def _convert(c: Context) -> None:
    parts = c.instruction.parts
    to, source = parts[-2], parts[-1]
    if to in BYTES or source in BYTES:
        _convert_bytes(c, to, source)
    elif to in ("f16x2", "bf16x2"):
        high, low = sources(c, source)
        lanes = [_narrow(parts, to, f"F32({v.text})") for v in (high, low)]
        set_result(c, "b32", f"(u32){lanes[0]} << 16 | {lanes[1]}", high, low)
    else:
        _convert_one(c, to, source)


def _is_float(kind: str) -> bool:
    return kind in ("f16", "bf16", "f32", "f64", "tf32")


def _widened(value: Value, kind: str) -> str:
    return f"{HALVES[kind]}((u16){value.text})" if kind in HALVES else number(value, kind)


def _narrow(parts: tuple[str, ...], to: str, text: str) -> str:
    mode = next((ROUND_FLOAT[p] for p in parts if p in ROUND_FLOAT), "EMU_NEAREST")
    if "relu" in parts:
        text = f"RELU({text})"
    if "sat" in parts:
        text = f"SATURATE({text})"
    return f"emu_f32_to_{'f16' if to.startswith('f16') else 'bf16'}({text}, {mode})"


def _convert_one(c: Context, to: str, source: str) -> None:
    parts = c.instruction.parts
    value = c.read(c.instruction.operands[1], source if source != "tf32" else "b32")
    if not _is_float(to) and not _is_float(source):
        _convert_integer(c, to, source, value)
        return
    text = _widened(value, source)
    if not _is_float(to):
        mode = next((ROUND_INTEGER[p] for p in parts if p in ROUND_INTEGER), "EMU_ZERO")
        bits, is_signed = bits_of(to), int(to[0] == "s")
        set_result(
            c, to, f"({signed(to)})emu_to_integer({text}, {mode}, {bits}, {is_signed})", value
        )
        return
    whole = next((p for p in parts if p in ROUND_INTEGER), None)
    if whole:
        text = f"emu_round({text}, {ROUND_INTEGER[whole]})"
    if to in HALVES:
        text = _narrow(parts, to, text)
    elif to == "tf32":
        text = f"TF32({text})"
    else:
        rounding = next((ROUNDING[p] for p in parts if p in ROUNDING), None)
        text = f"emu_to_f32({text}, {rounding})" if rounding and to == "f32" else text
        if "ftz" in parts:
            text = f"FTZ({text})"
        if "sat" in parts:
            text = f"SATURATE({text})"
        text = f"B{bits_of(to)}(({'float' if to == 'f32' else 'double'})({text}))"
    set_result(c, "b32" if to == "tf32" else to, text, value)


def _convert_integer(c: Context, to: str, source: str, value: Value) -> None:
    """Truncation and extension move bits, so the mask goes the same way."""
    if "sat" in c.instruction.parts:
        text = f"CLAMP_{signed(to).upper()}((i64)({signed(source)}){value.text})"
        set_result(c, to, text, value)
        return
    change = f"({carrier(to)})({signed(source)})"
    mask = "0" if value.mask == "0" else f"{change}({value.mask})"
    text = f"{change}({value.text})"
    if signed(to)[0] == "i" and bits_of(to) < 32:
        text = f"({signed(to)}){text}"
    c.write(c.instruction.operands[0], text, mask)


def _convert_bytes(c: Context, to: str, source: str) -> None:
    if to in BYTES:
        values = sources(c, source)
        if len(values) == 2:
            wide = [f"F32({v.text})" for v in values]
        else:
            wide = [f"H16((u16)({values[0].text} >> {s}))" for s in (16, 0)]
        lanes = [f"emu_f32_to_f8({x}, {BYTES[to]})" for x in wide]
        set_result(c, "b16", f"(u16)({lanes[0]} << 8 | {lanes[1]})", *values)
        return
    (value,) = sources(c, "b16")
    lanes = [
        f"(u32)H16_BITS(emu_f8_to_f32({value.text} >> {s} & 255, {BYTES[source]}))" for s in (8, 0)
    ]
    set_result(c, "b32", f"{lanes[0]} << 16 | {lanes[1]}", value)


CHOICES: dict[str, Callable[[Context], None]] = {
    "setp": _compare,
    "set": _compare,
    "selp": _select,
    "mov": _move,
    "cvt": _convert,
}
"""First part of the opcode -> how it is written in C."""
