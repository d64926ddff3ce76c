"""Kernels of this target outside of these packages: what its toolchain makes, for launches of the
user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.launch.exported import SourcesOnly
from tile_rocm.container import ARCHIVE

if TYPE_CHECKING:
    from tile_ir.target import TargetSpec

__all__ = ["exporter"]

WHY = "no launches through HIP are written in C: no device was at hand to try them on"


def exporter(spec: TargetSpec) -> SourcesOnly:
    """Exports for any description."""
    return SourcesOnly(ARCHIVE, ".hip", WHY)
