"""How many blocks a core runs at once, from what the device's compiler counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.target import TargetSpec

__all__ = ["blocks_per_core"]


def blocks_per_core(
    spec: TargetSpec, *, threads: int, registers: int, shared: int
) -> tuple[int, str]:
    """Blocks of so many threads, 32-bit registers of each, and bytes of shared memory that fit one
    core at once, at least 1; and what limits them."""
    limits = [(spec.max_blocks_per_core, "blocks that a core takes")]
    if spec.max_threads_per_core:
        text = f"{threads} of {spec.max_threads_per_core} threads"
        limits.append((spec.max_threads_per_core // max(threads, 1), text))
    if shared and spec.capacity("shared"):
        text = f"{shared} of {spec.capacity('shared')} bytes of shared memory"
        limits.append((spec.capacity("shared") // shared, text))
    if registers and spec.registers is not None:
        unit = max(1, spec.registers.unit)
        taken = -(-registers // unit) * unit * threads
        text = f"{taken} of {spec.registers.per_core} registers"
        limits.append((spec.registers.per_core // max(taken, 1), text))
    fits, why = min(limits)
    return max(1, fits), why
