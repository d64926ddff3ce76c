"""What the families of arithmetic share: sources, results, numbers of 16 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.emulate.values import any_of, signed

if TYPE_CHECKING:
    from tile_cuda.emulate.values import Context, Value

__all__ = ["HALVES", "ROUNDING", "kind_of", "number", "set_result", "sources"]

HALVES = {"f16": "H16", "bf16": "BF16", "f16x2": "H16", "bf16x2": "BF16"}
"""Types of 16 bits -> the prefix of their conversions in the support text."""
ROUNDING = {"rz": "EMU_ZERO", "rm": "EMU_DOWN", "rp": "EMU_UP"}
INTEGER = {
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "min": "{a} < {b} ? {a} : {b}",
    "max": "{a} > {b} ? {a} : {b}",
}
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
ROUNDING = {"rz": "EMU_ZERO", "rm": "EMU_DOWN", "rp": "EMU_UP"}
INTEGER = {
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "min": "{a} < {b} ? {a} : {b}",
    "max": "{a} > {b} ? {a} : {b}",
}
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


def kind_of(c: Context) -> str:
    """The type at the opcode's end."""
    return c.instruction.parts[-1]


def sources(c: Context, kind: str) -> list[Value]:
    """All operands but the first, which is the result."""
    return [c.read(o, kind) for o in c.instruction.operands[1:]]


def set_result(c: Context, kind: str, text: str, *values: Value) -> None:
    """Write the result, which depends on every bit of `values`."""
    c.write(c.instruction.operands[0], text, any_of(kind, *values))


def number(value: Value, kind: str) -> str:
    """The C value of the bits of an operand."""
    if kind in ("f32", "f64"):
        return f"F{kind[1:]}({value.text})"
    return f"({signed(kind)})({value.text})"
