"""The file that a compiled function is: Metal source, which the system compiles for the device at
hand when it is loaded, and what a launch needs of each kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tile_passes.launch.container import Archive, Contents

__all__ = ["ARCHIVE", "Contents", "KernelUsage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUsage:
    """What one kernel takes: threads and bytes of threadgroup memory of a block."""

    threads: int
    shared: int


ARCHIVE = Archive(code="kernel.metal", usage=KernelUsage)
