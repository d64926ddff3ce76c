"""Arithmetic of floating point, of 16 to 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.emulate.operands import HALVES, ROUNDING, kind_of, number, set_result, sources
from tile_cuda.emulate.ptx import SIZES
from tile_cuda.emulate.values import Value, any_of, bits_of, carrier

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_cuda.emulate.values import Context

__all__ = ["FLOATS"]

FLOAT = {
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "mul": "{a} * {b}",
    "div": "{a} / {b}",
    "fma": "{fma}({a}, {b}, {c})",
    "mad": "{fma}({a}, {b}, {c})",
    "neg": "-{a}",
    "abs": "{fabs}({a})",
}
UNIT = {
    "ex2": "EMU_EXP2",
    "lg2": "EMU_LOG2",
    "sin": "EMU_SIN",
    "cos": "EMU_COS",
    "tanh": "EMU_TANH",
    "sqrt": "EMU_SQRT",
    "rsqrt": "EMU_RSQRT",
    "rcp": "EMU_RCP",
}


def _float(c: Context) -> None:
    parts, kind = c.instruction.parts, kind_of(c)
    values = sources(c, kind)
    if kind in HALVES:
        _halves(c, values)
        return
    texts = [number(v, kind) for v in values]
    if "ftz" in parts:
        texts = [f"FTZ({x})" for x in texts]
    mode = next((ROUNDING[p] for p in parts if p in ROUNDING), None)
    text = _float_text(parts, kind, texts, mode)
    if kind == "f32" and mode:
        text = f"emu_to_f32({text}, {mode})"
    if "ftz" in parts:
        text = f"FTZ({text})"
    if "sat" in parts:
        text = f"SATURATE({text})"
    set_result(c, kind, f"B{bits_of(kind)}({text})", *values)


def _float_text(parts: tuple[str, ...], kind: str, texts: list[str], mode: str | None) -> str:
    family = parts[0]
    if family in UNIT:
        return f"({'float' if kind == 'f32' else 'double'})emu_math({UNIT[family]}, {texts[0]})"
    if family in ("min", "max"):
        name = f"{family.upper()}{'_NAN' if 'NaN' in parts else ''}{kind[1:]}"
        return f"{name}({', '.join(texts)})"
    suffix = "f" if kind == "f32" and not mode else ""
    if mode:
        texts = [f"(double){x}" for x in texts]
    names = dict(zip("abc", texts, strict=False))
    return FLOAT[family].format(
        **names, fma=f"__builtin_fma{suffix}", fabs=f"__builtin_fabs{suffix}"
    )


def _halves(c: Context, values: list[Value]) -> None:
    """16-bit types, one or two in a register, computed wide and rounded once."""
    parts, kind = c.instruction.parts, kind_of(c)
    family, prefix = parts[0], HALVES[kind]
    if family in ("neg", "abs"):
        bit = "0x8000" if SIZES.get(kind, 4) == 2 else "0x80008000u"
        change = f"{values[0].text} {'^' if family == 'neg' else '& ~'}{bit}"
        c.write(c.instruction.operands[0], change, values[0].mask)
        return
    lanes = []
    for shift in (0, 16) if kind.endswith("x2") else (0,):
        texts = [f"(double){prefix}((u16)({v.text} >> {shift}))" for v in values]
        text = _float_text(parts, "f64", texts, None)
        if "relu" in parts:
            text = f"RELU({text})"
        if "sat" in parts:
            text = f"SATURATE({text})"
        lanes.append(f"(u32){prefix}_BITS({text}) << {shift}")
    c.write(c.instruction.operands[0], " | ".join(lanes), any_of("b32", *values))


def _copysign(c: Context) -> None:
    kind = kind_of(c)
    sign, value = sources(c, kind)
    top = f"(({carrier(kind)})1 << {bits_of(kind) - 1})"
    set_result(c, kind, f"({value.text} & ~{top}) | ({sign.text} & {top})", sign, value)


FLOATS: dict[str, Callable[[Context], None]] = {
    **dict.fromkeys((*FLOAT, *UNIT, "min", "max"), _float),
    "copysign": _copysign,
}
"""First part of the opcode -> how it is written in C, for operands of floating point."""
