"""Compiler flags for one CPU description: explicit features, never -march=native.

A library's cache key holds its flags, so they must say what the code needs and nothing about the
machine that built it. gcc and clang take the description's flags; zig names CPUs in its own way,
one word with the features appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_cpu.compilers import Toolchain
    from tile_ir.target import TargetSpec

__all__ = ["flags_for"]

WRONG_IN_GCC = "tree-loop-distribution"
"""An optimization of -O3 by which gcc 12.2 computes wrong sums: of a loop that clears an element,
adds to it in an inner loop and copies it, parts change places."""


def flags_for(
    spec: TargetSpec, toolchain: Toolchain, strict: bool = False, optimize: int = 3
) -> tuple[str, ...]:
    """Flags with which `toolchain` builds emitted C for the machines of `spec`.

    `strict` forbids contraction of a product and a sum into one rounding.
    """
    hints = spec.toolchain
    machine = (f"-mcpu={hints.cpu}",) if toolchain.kind == "zig" else hints.flags
    wrong = (f"-fno-{WRONG_IN_GCC}",) if toolchain.kind == "gcc" else ()
    contract = f"-ffp-contract={'off' if strict else 'fast'}"
    return (f"-O{optimize}", *wrong, *machine, contract)
