"""The file that a compiled function is, with what NVIDIA's compiler counts of each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tile_passes.launch.container import Archive, Contents

__all__ = ["ARCHIVE", "Contents", "KernelUsage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUsage:
    """What one kernel takes: 32-bit registers of a thread; bytes of static shared memory of a
    block, of a thread's stack, and of registers spilled (stored and loaded)."""

    registers: int
    static_shared: int
    stack: int
    spill_stores: int
    spill_loads: int


ARCHIVE = Archive(code="kernel.cubin", usage=KernelUsage)
