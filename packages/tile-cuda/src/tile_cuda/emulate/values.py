"""Operands as C expressions: every PTX register is a C variable of unsigned bits with a mask beside
it, whose one bits say what of the register was never written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cuda.emulate.ptx import SIZES, split_operands
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_cuda.emulate.ptx import Instruction, Kernel

__all__ = ["CARRIERS", "Context", "Value", "any_of", "bits_of", "carrier", "signed", "unknown"]

CARRIERS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
SPECIAL = {
    "%laneid": "t->lane",
    "%warpid": "t->warp",
    "%nwarpid": "((t->ntid[0] * t->ntid[1] * t->ntid[2] + 31) / 32)",
    "%cluster_ctarank": "t->rank",
    "%cluster_nctarank": "t->cluster",
    "%cluster_ctaid.x": "t->rank",
    "%cluster_ctaid.y": "0u",
    "%cluster_ctaid.z": "0u",
    "%cluster_nctaid.x": "t->cluster",
    "%cluster_nctaid.y": "1u",
    "%cluster_nctaid.z": "1u",
    "%clusterid.x": "(t->ctaid[0] / t->cluster)",
    "%clusterid.y": "t->ctaid[1]",
    "%clusterid.z": "t->ctaid[2]",
    "%nclusterid.x": "(t->nctaid[0] / t->cluster)",
    "%nclusterid.y": "t->nctaid[1]",
    "%nclusterid.z": "t->nctaid[2]",
    "%smid": "0u",
    "%nsmid": "1u",
    "%gridid": "0ull",
    "%clock": "0u",
    "%clock64": "0ull",
    "%globaltimer": "0ull",
    "%lanemask_eq": "(1u << t->lane)",
    "%lanemask_lt": "((1u << t->lane) - 1)",
    "%lanemask_le": "(~0u >> (31 - t->lane))",
    "%lanemask_gt": "(~1u << t->lane)",
    "%lanemask_ge": "(~0u << t->lane)",
    **{
        f"%{name}.{axis}": f"t->{name}[{i}]"
        for name in ("tid", "ntid", "ctaid", "nctaid")
        for i, axis in enumerate("xyz")
    },
}
"""Special registers."""

WARP_SIZE = "WARP_SZ"


def unknown(opcode: str) -> TileError:
    """The error (E2301) for an instruction without a meaning here."""
    return TileError(
        "E2301",
        f"the emulator does not know the instruction {opcode}",
        help="Run on a device, or compile for an architecture whose instructions it knows.",
    )


def carrier(kind: str) -> str:
    """The C type that holds a value of a PTX type."""
    return CARRIERS[SIZES[kind]]


def signed(kind: str) -> str:
    """The C integer type of a PTX type: signed for s32, unsigned for u32 and b32."""
    return ("i" if kind[0] == "s" else "u") + str(8 * SIZES[kind])


def bits_of(kind: str) -> int:
    """Bits of a PTX type."""
    return 8 * SIZES[kind]


@dataclass(frozen=True, slots=True)
class Value:
    """The unsigned bits of a value and their mask, as C text."""

    text: str
    mask: str = "0"


def any_of(kind: str, *values: Value) -> str:
    """The mask of a result that depends on every bit of these values."""
    masks = list(dict.fromkeys(v.mask for v in values if v.mask != "0"))
    return f"ANY({carrier(kind)}, {' | '.join(masks)})" if masks else "0"


class Context:
    """One instruction being translated: reads its operands, collects its C lines."""

    def __init__(self, kernel: Kernel, instruction: Instruction) -> None:
        self.kernel = kernel
        self.instruction = instruction
        self.lines: list[str] = []

    @property
    def at(self) -> str:
        """What reports call this place."""
        return f"{self.instruction.line}u"

    def line(self, text: str) -> None:
        """Add a C line."""
        self.lines.append(text)

    def register(self, name: str) -> str:
        """The C variable of a register."""
        return "v_" + re.sub(r"\W", "", name)

    def mask(self, name: str) -> str:
        """The C variable of a register's mask."""
        return "m_" + re.sub(r"\W", "", name)

    def read(self, operand: str, kind: str = "b32") -> Value:
        """An operand of a type. Raises TileError E2302 for a name that nothing declares."""
        if operand in self.kernel.registers:
            return Value(self.register(operand), self.mask(operand))
        if operand.startswith("!") and operand[1:] in self.kernel.registers:
            return Value(f"!{self.register(operand[1:])}", self.mask(operand[1:]))
        if operand in SPECIAL:
            return Value(SPECIAL[operand])
        if operand == WARP_SIZE:
            return Value("32u")
        return Value(self._constant(operand, kind))

    def _constant(self, operand: str, kind: str) -> str:
        if found := re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", operand):
            return f"0x{found.group(1)}{'ull' if len(found.group(1)) > 8 else 'u'}"
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
            size = max(SIZES.get(kind, 4), 1)
            number = int(operand.rstrip("U"), 0) & ((1 << 8 * size) - 1)
            return f"0x{number:x}{'ull' if size == 8 else 'u'}"
        return self._symbol(operand)

    def _symbol(self, operand: str) -> str:
        name, _, offset = operand.partition("+")
        more = f" + {int(offset)}" if offset else ""
        if name in self.kernel.shared:
            return f"{self.kernel.shared[name] + int(offset or 0)}u"
        if name in self.kernel.parameters:
            return f"((u64)(prm + {self.kernel.parameters[name][0]}){more})"
        if name in self.kernel.pointers:
            return f"((u64){self.kernel.pointers[name]}{more})"
        if name in self.kernel.constants:
            return f"((u64)(constants + {self.kernel.constants[name]}){more})"
        if name in self.kernel.local:
            return f"((u64)(t->local + {self.kernel.local[name]}){more})"
        raise TileError(
            "E2302",
            f"unknown operand {operand!r} in the PTX of {self.kernel.name}",
            help="Please report it with the version of the device compiler.",
        )

    def several(self, operand: str, kind: str) -> list[Value]:
        """The values of a list in braces, or the one that is not in braces."""
        return [self.read(name, kind) for name in self.names(operand)]

    def names(self, operand: str) -> tuple[str, ...]:
        """The names in braces, or the one without."""
        return split_operands(operand[1:-1]) if operand.startswith("{") else (operand,)

    def write(self, operand: str, text: str, mask: str) -> None:
        """Set a register (`_`: none); both texts are computed before it changes."""
        if operand == "_":
            return
        kind = carrier(self.kernel.registers[operand])
        if mask == "0":
            self.line(f"{self.register(operand)} = {text}; {self.mask(operand)} = 0;")
            return
        self.line(
            f"{{ {kind} k_ = {mask}; {self.register(operand)} = {text};"
            f" {self.mask(operand)} = k_; }}"
        )

    def need(self, value: Value, what: str) -> None:
        """Report where a value that was never written matters."""
        if value.mask != "0":
            self.line(f"NEED({value.mask}, {self.at}, {what});")

    def address(self, operand: str) -> str:
        """The address in brackets, as C text of 64 bits; reports one that was never written."""
        inside = operand.strip()[1:-1].strip()
        base, _, offset = inside.partition("+")
        value = self.read(base.strip(), "b64")
        self.need(value, "EMU_ADDRESS")
        more = f" + ({int(offset, 0)}ll)" if offset else ""
        if SIZES.get(self.kernel.registers.get(base.strip(), ""), 8) == 4:
            return f"(u64)(u32)({value.text}{more})"  # windows of 32 bits: sums wrap around
        return f"((u64){value.text}{more})"

    def array(self, name: str, values: Sequence[Value], kind: str = "u32") -> None:
        """Declare arrays of values and of their masks."""
        texts, masks = ", ".join(v.text for v in values), ", ".join(v.mask for v in values)
        self.line(f"{kind} {name}[] = {{{texts}}}, {name}_m[] = {{{masks}}};")
