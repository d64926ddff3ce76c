"""The file that a compiled function is, with what the code object says of each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tile_passes.launch.container import Archive, Contents

__all__ = ["ARCHIVE", "Contents", "KernelUsage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUsage:
    """What one kernel takes: 32-bit registers of a thread (with those for accumulators, which are
    also counted by themselves) and of a wave; bytes of shared memory of a block and of a thread's
    stack; registers kept in memory."""

    vector_registers: int
    accumulator_registers: int
    scalar_registers: int
    shared: int
    stack: int
    vector_spills: int
    scalar_spills: int


ARCHIVE = Archive(code="kernel.co", usage=KernelUsage)
