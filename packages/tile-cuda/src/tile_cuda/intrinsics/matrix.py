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


def wgmma_name(atom: MatrixAtom, n: int, source: Literal["ss", "rs"], steps: int = 1) -> str:
    """What the wrapper of `steps` instructions of an asynchronous atom at width `n` is called."""
    return f"tile_wgmma_{atom.name}_n{n}_{source}{f'_x{steps}' if steps > 1 else ''}"


def wgmma_wrapper(
    atom: MatrixAtom, n: int, source: Literal["ss", "rs"], steps: int = 1
) -> tuple[str, str]:
    """Name and text of the wrapper of asynchronous instructions of width `n` on one accumulator.

    `keep` false makes the first of the `steps` overwrite the accumulator. For 16-bit types the
    first template arguments say whether an operand's contiguous axis is M or N (1) or K (0). Those
    of later steps (`A1`, `B1`, ...) are what to add to a descriptor, in chunks of 16 bytes; A in
    registers goes on where the step before ended. Several steps are one statement because a
    compiler's front end takes a millisecond for each statement with 128 accumulators.
    """
    sized = atom.at_n(n)
    name, c = wgmma_name(atom, n, source, steps), atom_registers(sized, "accumulator")
    a = atom_registers(sized, "a") if source == "rs" else None
    transposable = dtype(atom.a.dtype).bits == 16
    flags = ([] if a else ["A_MAJOR"]) + ["B_MAJOR"] if transposable else []
    letters = "B" if a else "AB"
    moves = [f"{letter}{step}" for letter in letters for step in range(1, steps)]
    b_inputs = [_moved("b", step) for step in range(steps)]
    a_inputs = [_moved("a", step) for step in range(steps)]
    if a is not None:
        a_inputs = [_constraints("", a, "a", step * a.count) for step in range(steps)]
    inputs = [*a_inputs, *b_inputs, '"r"((int)keep)', *(f'"n"({flag})' for flag in flags)]
    arguments = ", ".join(f"int {argument}" for argument in (*flags, *moves))
    template = [f"template <{arguments}>"] if arguments else []
    a_argument = f"const {a.kind} *a" if a else "unsigned long long a"
    keep = c.count + steps * ((a.count if a else 1) + 1)
    text = "\n".join(
        [
            *template,
            f"TILE_FN void {name}({c.kind} *c, {a_argument}, unsigned long long b, bool keep) {{",
            f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{keep}, 0;\\n"',
            *(['               ".reg .pred q;\\nsetp.eq.b32 q, 0, 0;\\n"'] if steps > 1 else []),
            *_instructions(sized, c, a, steps, len(flags)),
            f"               : {_constraints('+', c, 'c')}",
            f"               : {', '.join(inputs)});",
            "}",
        ]
    )
    return name, text


def _instructions(
    atom: MatrixAtom, c: Registers, a: Registers | None, steps: int, flags: int
) -> list[str]:
    """The lines of assembly: an instruction for each step, the first one under the predicate."""
    types = ".".join(PTX_TYPES[t] for t in (atom.accumulator.dtype, atom.a.dtype, atom.b.dtype))
    code = f"wgmma.mma_async.sync.aligned.m{atom.m}n{atom.n}k{atom.k}.{types}"
    each = a.count if a else 1
    b_at = c.count + steps * each
    tail = ", 1, 1" if dtype(atom.accumulator.dtype).is_float else ""  # no operand is negated
    tail += "".join(f", %{b_at + steps + 1 + i}" for i in range(flags))
    registers = ", ".join(_slots(0, c))
    lines = []
    for step in range(steps):
        at = c.count + step * each
        operand = f"{{{', '.join(_slots(at, a))}}}" if a else f"%{at}"
        keep = "p" if step == 0 else "q"
        lines.append(f"{code} {{{registers}}}, {operand}, %{b_at + step}, {keep}{tail};\\n")
    lines[-1] += "}"
    return [f'               "{line}"' for line in lines]


def _moved(operand: str, step: int) -> str:
    """The constraint of a step's descriptor."""
    if step == 0:
        return f'"l"({operand})'
    return f'"l"(tile_descriptor_plus({operand}, {operand.upper()}{step}))'


def _slots(first: int, registers: Registers) -> list[str]:
    return [f"%{first + i}" for i in range(registers.count)]


def _constraints(mode: str, registers: Registers, array: str, first: int = 0) -> str:
    places = range(first, first + registers.count)
    return ", ".join(f'"{mode}{registers.letter}"({array}[{i}])' for i in places)
