"""Loads, stores, atomic operations and changes of address space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cuda.emulate.ptx import SIZES
from tile_cuda.emulate.values import Context, Value, any_of, bits_of, carrier, signed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MEMORY", "space_of"]

SPACES = {
    "global": "EMU_GLOBAL",
    "const": "EMU_GLOBAL",
    "shared": "EMU_SHARED",
    "shared:cta": "EMU_SHARED",
    "shared:cluster": "EMU_SHARED_CLUSTER",
    "local": "EMU_LOCAL",
}
STRONG = {"volatile", "acquire", "release", "relaxed", "mmio"}
"""Other threads may access the same memory at the same time; a load with one of these may stand in
a loop that waits for another thread."""
_WORD = 4
"""Bytes of the words in which loops exchange numbers of 8 and 16 bits: a volatile load, then
compare and swap. The text does not show which part of the word is meant."""
PUBLISHING = {"release", "acq_rel"}
"""What the thread has seen before is seen by those who see what it writes here."""
OPERATIONS = {
    "add": "EMU_ADD",
    "min": "EMU_MIN",
    "max": "EMU_MAX",
    "and": "EMU_AND",
    "or": "EMU_OR",
    "xor": "EMU_XOR",
    "exch": "EMU_EXCHANGE",
    "cas": "EMU_COMPARE",
    "inc": "EMU_INC",
    "dec": "EMU_DEC",
}
TYPES = {
    "b32": "EMU_U32",
    "u32": "EMU_U32",
    "s32": "EMU_S32",
    "b64": "EMU_U64",
    "u64": "EMU_U64",
    "s64": "EMU_S64",
    "f32": "EMU_F32",
    "f64": "EMU_F64",
    "f16": "EMU_F16",
    "bf16": "EMU_BF16",
    "f16x2": "EMU_F16X2",
    "bf16x2": "EMU_BF16X2",
    "b16": "EMU_U16",
}


def space_of(parts: tuple[str, ...]) -> str:
    """The state space that an opcode names; generic where it names none."""
    return next((SPACES[p] for p in parts if p in SPACES), "EMU_GENERIC")


def _lanes(parts: tuple[str, ...]) -> int:
    return next((int(p[1:]) for p in parts if p in ("v2", "v4", "v8")), 1)


def _load(c: Context) -> None:
    parts = c.instruction.parts
    kind, to = parts[-1], c.instruction.operands[0]
    unit, count = carrier(kind), _lanes(parts)
    address = c.address(c.instruction.operands[1])
    c.line(f"{{ {unit} q_[{count}], k_[{count}] = {{0}};")
    if any(p.startswith("param") for p in parts):
        c.line(f"__builtin_memcpy(q_, (char *){address}, sizeof q_);")
    else:
        if c.kernel.constants:
            c.line(
                f"if (IS_CONSTANT({address})) __builtin_memcpy(q_, (char *){address}, sizeof q_);"
            )
            c.line("else")
        strong = " | EMU_STRONG" if STRONG.intersection(parts) else ""
        if "volatile" in parts and SIZES[kind] == _WORD and count == 1:
            strong += " | EMU_PART"
        c.line(f"emu_load(t, {c.at}, {space_of(parts)}{strong}, {address}, sizeof q_, q_, k_);")
    for i, name in enumerate(c.names(to)):
        if name != "_":
            cast = f"({signed(kind)})" if kind[0] == "s" else ""
            wide = carrier(c.kernel.registers[name])
            c.line(
                f"{c.register(name)} = ({wide}){cast}q_[{i}];"
                f" {c.mask(name)} = ({wide}){cast}k_[{i}];"
            )
    c.line("}")
    if STRONG.intersection(parts):
        c.line(f"emu_yield(t, {c.at});")


def _store(c: Context) -> None:
    """To memory; what is sent to another block counts towards the phase of its barrier."""
    parts = c.instruction.parts
    kind = parts[-1]
    address = c.address(c.instruction.operands[0])
    values = c.several(c.instruction.operands[1], kind)
    unit = carrier(kind)
    texts = ", ".join(f"({unit})({v.text})" for v in values)
    if "param" in parts:
        for value in values:
            c.need(value, "EMU_OPERAND")
        c.line(
            f"{{ {unit} q_[] = {{{texts}}}; __builtin_memcpy((char *){address}, q_, sizeof q_); }}"
        )
        return
    masks = ", ".join(f"({unit})({v.mask})" for v in values)
    c.line(f"{{ {unit} q_[] = {{{texts}}}, k_[] = {{{masks}}};")
    strong = " | EMU_STRONG" if STRONG.intersection(parts) else ""
    space = f"{space_of(parts)}{strong}{_publishing(parts)}"
    sent = ""
    if "async" in parts:
        barrier = c.address(c.instruction.operands[2])
        sent = f" emu_phase_complete(t, {c.at}, {barrier}, (i32)sizeof q_);"
    c.line(f"emu_store(t, {c.at}, {space}, {address}, sizeof q_, q_, k_);{sent} }}")


def _publishing(parts: tuple[str, ...]) -> str:
    return " | EMU_PUBLISH" if PUBLISHING.intersection(parts) else ""


def _atomic(c: Context) -> None:
    """atom and red, also of vectors, which are atomic for each element."""
    parts, operands = c.instruction.parts, list(c.instruction.operands)
    kind = parts[-1]
    op = next(OPERATIONS[p] for p in parts if p in OPERATIONS)
    blind = "" if parts[0] == "atom" else " | EMU_BLIND"
    part = " | EMU_PART" if op == "EMU_COMPARE" and SIZES[kind] == _WORD else ""
    space = f"{space_of(parts)}{blind}{part}{_publishing(parts)}"
    to = "_" if blind else operands.pop(0)
    address = c.address(operands[0])
    values = c.several(operands[1], kind)
    other = c.read(operands[2], kind) if op == "EMU_COMPARE" else Value("0")
    for value in (*values, other):
        c.need(value, "EMU_OPERAND")
    size = SIZES.get(kind, 4)
    names = c.names(to) if to != "_" else ("_",) * len(values)
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        call = (
            f"emu_atomic(t, {c.at}, {space}, {op}, {TYPES[kind]},"
            f" {address} + {i * size}u, {value.text}, {other.text})"
        )
        if name == "_":
            c.line(f"{call};")
        else:
            c.write(name, call, "0")


def _convert_address(c: Context) -> None:
    """Generic addresses are those of the host; shared ones count from the window's start."""
    parts = c.instruction.parts
    value = c.read(c.instruction.operands[1], "b64")
    kind = f"b{bits_of(parts[-1])}"
    text = value.text
    if "shared" in parts or "shared:cta" in parts:
        c.need(value, "EMU_ADDRESS")
        text = (
            f"emu_window(t, {c.at}, {value.text})"
            if "to" in parts
            else f"(u64)t->shared + (u64){value.text}"
        )
    c.write(c.instruction.operands[0], f"({carrier(kind)})({text})", any_of(kind, value))


def _fence(c: Context) -> None:
    """Between threads; between what threads wrote and engines that read it."""
    parts = c.instruction.parts
    if "proxy" in parts:
        if "async" in parts:
            c.line("emu_fence_engines(t);")
    elif "mbarrier_init" not in parts:
        c.line(f"emu_fence(t, {int('cta' not in parts)});")


def _nothing(c: Context) -> None:
    """Hints."""


MEMORY: dict[str, Callable[[Context], None]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "cvta": _convert_address,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "membar": _fence,
    "fence": _fence,
    "discard": _nothing,
    "applypriority": _nothing,
}
"""First part of the opcode -> how it is written in C."""
