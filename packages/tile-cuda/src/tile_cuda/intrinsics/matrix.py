"""Wrappers of the matrix instructions, generated from the atoms of a description.

A wrapper takes pointers to register arrays: `tile_mma_ATOM(c, a, b)` for those of one warp;
`tile_wgmma_ATOM_nN_ss` (both operands described in shared memory) and `_rs` (A in registers) for
the asynchronous ones of a warpgroup, which read B, and A, through descriptors. The text of the
instruction follows from shape and types (PTX ISA, "mma" and "wgmma.mma_async").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.layout import FragmentLayout, parse_layout
from tile_ir.types import dtype

if TYPE_CHECKING:
    from typing import Literal

    from tile_ir.target import MatrixAtom

__all__ = ["Registers", "atom_registers", "mma_wrapper", "wgmma_name", "wgmma_wrapper"]

PTX_TYPES = {
    "f16": "f16",
    "bf16": "bf16",
    "tf32": "tf32",
    "f32": "f32",
    "f64": "f64",
    "i8": "s8",
    "u8": "u8",
    "i32": "s32",
    "f8e4m3fn": "e4m3",
    "f8e5m2": "e5m2",
}
"""Element type -> its name in PTX."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """One thread's part of an operand as an instruction takes it: `count` of C++ type `kind`, whose
    letter in an assembly constraint is `letter`."""

    kind: str
    letter: str
    count: int


def atom_registers(atom: MatrixAtom, operand: Literal["a", "b", "accumulator"]) -> Registers:
    """The registers of an operand. Raises InternalError E3090 where it is not one of registers."""
    text = atom.layout(operand)
    layout = parse_layout(text) if text else None
    if not isinstance(layout, FragmentLayout):
        raise InternalError("E3090", f"operand {operand} of {atom.name} has no fragment layout")
    kind = dtype(getattr(atom, operand).dtype)
    if kind.name == "f64":
        return Registers(kind="double", letter="d", count=layout.values)
    if kind.name == "f32":
        return Registers(kind="float", letter="f", count=layout.values)
    words = layout.values * kind.storage_bits // 32
    return Registers(kind="int" if kind.name == "i32" else "unsigned", letter="r", count=words)


def mma_wrapper(atom: MatrixAtom) -> tuple[str, str]:
    """Name and text of the wrapper of an instruction of one warp: c += a b."""
    name = f"tile_mma_{atom.name}"
    a, b, c = (atom_registers(atom, which) for which in ("a", "b", "accumulator"))
    types = ".".join(
        PTX_TYPES[t]
        for t in (atom.accumulator.dtype, atom.a.dtype, atom.b.dtype, atom.accumulator.dtype)
    )
    # 8-bit integers are added without saturation when nothing is said.
    code = f"mma.sync.aligned.m{atom.m}n{atom.n}k{atom.k}.row.col.{types}"
    slots = _slots(0, c), _slots(c.count, a), _slots(c.count + a.count, b), _slots(0, c)
    operands = ", ".join(f"{{{', '.join(part)}}}" for part in slots)
    text = "\n".join(
        [
            f"TILE_FN void {name}(void *c_, const void *a_, const void *b_) {{",
            f"  {c.kind} *c = ({c.kind} *)c_;",
            f"  const {a.kind} *a = (const {a.kind} *)a_;",
            f"  const {b.kind} *b = (const {b.kind} *)b_;",
            f'  asm volatile("{code} {operands};"',
            f"               : {_constraints('+', c, 'c')}",
            f"               : {_constraints('', a, 'a')}, {_constraints('', b, 'b')});",
            "}",
        ]
    )
    return name, text


def wgmma_name(atom: MatrixAtom, n: int, source: Literal["ss", "rs"]) -> str:
    """What the wrapper of an asynchronous atom at width `n` is called."""
    return f"tile_wgmma_{atom.name}_n{n}_{source}"


def wgmma_wrapper(atom: MatrixAtom, n: int, source: Literal["ss", "rs"]) -> tuple[str, str]:
    """Name and text of the wrapper of an asynchronous instruction of width `n`.

    `keep` false makes it overwrite the accumulator. For 16-bit types the template arguments say
    whether an operand's contiguous axis is M or N (1) or K (0).
    """
    sized = atom.at_n(n)
    name, c = wgmma_name(atom, n, source), atom_registers(sized, "accumulator")
    a = atom_registers(sized, "a") if source == "rs" else Registers(kind="", letter="l", count=1)
    types = ".".join(PTX_TYPES[t] for t in (atom.accumulator.dtype, atom.a.dtype, atom.b.dtype))
    code = f"wgmma.mma_async.sync.aligned.m{atom.m}n{n}k{atom.k}.{types}"
    at = c.count + a.count
    a_text = f"{{{', '.join(_slots(c.count, a))}}}" if source == "rs" else f"%{c.count}"
    is_float = dtype(atom.accumulator.dtype).is_float
    transposable = dtype(atom.a.dtype).bits == 16
    tail = ", 1, 1" if is_float else ""  # no operand is negated
    flags = ([] if source == "rs" else ["A_MAJOR"]) + ["B_MAJOR"] if transposable else []
    tail += "".join(f", %{at + 2 + i}" for i in range(len(flags)))
    a_argument = f"const {a.kind} *a" if source == "rs" else "unsigned long long a"
    a_inputs = _constraints("", a, "a") if source == "rs" else '"l"(a)'
    inputs = [a_inputs, '"l"(b)', '"r"((int)keep)', *(f'"n"({flag})' for flag in flags)]
    template = [f"template <{', '.join(f'int {flag}' for flag in flags)}>"] if flags else []
    registers = ", ".join(_slots(0, c))
    text = "\n".join(
        [
            *template,
            f"TILE_FN void {name}({c.kind} *c, {a_argument}, unsigned long long b, bool keep) {{",
            f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{at + 1}, 0;\\n"',
            f'               "{code} {{{registers}}}, {a_text}, %{at}, p{tail};\\n}}"',
            f"               : {_constraints('+', c, 'c')}",
            f"               : {', '.join(inputs)});",
            "}",
        ]
    )
    return name, text


def _slots(first: int, registers: Registers) -> list[str]:
    return [f"%{first + i}" for i in range(registers.count)]


def _constraints(mode: str, registers: Registers, array: str) -> str:
    return ", ".join(f'"{mode}{registers.letter}"({array}[{i}])' for i in range(registers.count))
