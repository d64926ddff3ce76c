"""Kernels of this target outside of these packages: what its toolchain makes, for launches of the
user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_metal.container import ARCHIVE
from tile_passes.launch.exported import SourcesOnly

if TYPE_CHECKING:
    from tile_ir.target import TargetSpec

__all__ = ["exporter"]

WHY = "kernels are compiled and launched by PyTorch, which a library in C has not"


def exporter(spec: TargetSpec) -> SourcesOnly:
    """Exports for any description."""
    return SourcesOnly(ARCHIVE, ".metal", WHY)
