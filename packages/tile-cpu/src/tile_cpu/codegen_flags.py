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


def flags_for(
    spec: TargetSpec, toolchain: Toolchain, strict: bool = False, optimize: int = 3
) -> tuple[str, ...]:
    """Flags with which `toolchain` builds emitted C for the machines of `spec`.

    `strict` forbids contraction of a product and a sum into one rounding.
    """
    hints = spec.toolchain
    machine = (f"-mcpu={hints.cpu}",) if toolchain.kind == "zig" else hints.flags
    return (f"-O{optimize}", *machine, f"-ffp-contract={'off' if strict else 'fast'}")
