"""Say what NVIDIA's compilers said, in terms of the user's kernel.

The assembler's remarks tell of performance lost, which for asynchronous matrix instructions is not
a matter of taste: such a kernel is several times too slow, so they are errors here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tile_ir.diag import TileError
from tile_passes.launch.messages import Messages

__all__ = ["Spills", "compiler_failed", "parse_messages", "raise_for_performance", "spills_of"]

MESSAGES = Messages(
    placed=re.compile(
        r"^(?P<file>[^\s:()]+)\((?P<line>\d+)\): (?:catastrophic )?error:? (?P<text>.*)$", re.M
    ),
    unplaced=re.compile(r"^ptxas .*?(?:line \d+; )?(?:error|fatal)\s*: (?P<text>.*)$", re.M),
    missing=re.compile(r"requires \.target|not supported on \.target|requires PTX ISA", re.I),
    compiler="the CUDA compiler",
)
parse_messages = MESSAGES.parse
REMARK = re.compile(r"\((?P<code>C7\d\d\d)\)\s*(?P<text>.*)$", re.M)
PROPERTIES = re.compile(
    r"Function properties for '?(?P<name>\w+)'?\s*\n"
    r".*?(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
SERIALIZED = {
    "C7510": "a function call lies between issue and wait",
    "C7511": "the compiler copies accumulators and has too few registers for it",
    "C7512": "too few registers for the accumulators in flight (leave 28 free)",
    "C7513": "registers that an instruction takes are written inside its group",
    "C7514": "an accumulator is read while a newer group is in flight over a loop edge",
    "C7515": "an accumulator in flight over a loop edge is not defined by such an instruction",
    "C7517": "an accumulator retired earlier is modified while another group is in flight",
    "C7518": "a group is in flight on some paths only",
}
"""Remarks of the assembler that mean every asynchronous matrix instruction runs alone -> why."""
FIX = "Use smaller blocks, fewer stages or more threads, or pin another schedule."
FIXES = {
    "C7510": "T.print, a device assertion and functions given as text are such calls: take them "
    "out, or pin a synchronous instruction (KERNEL.gemm:C.atom in kernel.explain()).",
}
"""Remark -> what to do where it is not the size of the kernel."""
NO_ROOM = re.compile(r"\(C7602\)\s*(?P<text>.*)$", re.M)
"""The assembler's error where one instruction needs more registers than a launch of so many threads
leaves to each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spills:
    """Bytes of registers that a kernel stores to and loads from memory, as the assembler counts."""

    stores: int
    loads: int


def compiler_failed(log: str, source: str, command: str) -> TileError:
    """The error for source that was refused: E3004 where a matrix instruction does not fit in the
    registers of a thread, which is a matter of the kernel's sizes; E3002 or E3015 else."""
    full = NO_ROOM.search(log)
    if full is None:
        return MESSAGES.refusal(log, source, command)
    return TileError(
        "E3004",
        "a matrix instruction needs more registers than a launch of so many threads leaves to each",
        notes=(f"C7602: {full['text'].strip()}",),
        help="Use smaller blocks, above all fewer columns, or fewer threads, or pin another "
        "instruction (KERNEL.gemm:C.atom in kernel.explain()).",
    )


def raise_for_performance(log: str) -> None:
    """Refuse a build that the assembler says is far slower than what was asked for.

    Raises TileError E3004 (matrix instructions serialized), E3006 (register hand-over ignored).
    """
    for remark in REMARK.finditer(log):
        reason = SERIALIZED.get(remark["code"])
        if reason is not None:
            raise TileError(
                "E3004",
                f"asynchronous matrix instructions are serialized: {reason}",
                notes=(f"{remark['code']}: {remark['text'].strip()}",),
                help=FIXES.get(remark["code"], FIX),
            )
    for line in log.splitlines():
        if "setmaxnreg" in line and "ignored" in line:
            raise TileError(
                "E3006",
                "the compiler ignored the register limits of the roles",
                notes=(line.strip(),),
                help="Please report this kernel; pinning registers off avoids it.",
            )


def spills_of(log: str) -> dict[str, Spills]:
    """Kernel -> what it spills, from the assembler's statistics."""
    return {
        m["name"]: Spills(stores=int(m["stores"]), loads=int(m["loads"]))
        for m in PROPERTIES.finditer(log)
    }
