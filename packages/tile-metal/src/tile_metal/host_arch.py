"""Which description fits the GPU at hand."""

from __future__ import annotations

import sys
from types import MappingProxyType

from tile_ir.diag import TileError
from tile_metal import knobs, spec

__all__ = ["arch_for", "host_arch"]

SYSTEM = "darwin"
FAMILIES = MappingProxyType({1: 7, 2: 8, 3: 9, 4: 9, 5: 10})
"""Chip M1, M2, ... -> GPU family ("Metal Feature Set Tables")."""


def arch_for(chip: int) -> str:
    """The description for chip M1, M2, ...; a newer chip runs code for the newest family that is
    described. Raises TileError E3014 for none."""
    newest = max(FAMILIES)
    if chip < 1:
        raise TileError(
            "E3014",
            f"no description fits a chip M{chip}",
            notes=(f"described: {', '.join(spec.names())}",),
            help="Name the nearest one: target='metal -arch=apple7'.",
        )
    return f"apple{FAMILIES[min(chip, newest)]}"


def host_arch() -> str:
    """The description for the device at hand; TILE_METAL_ARCH overrides it.

    Raises TileError E3008 (no device), E3012 (no PyTorch), E3014 (none fits).
    """
    asked = knobs.requested_arch()
    if asked is not None:
        return asked
    if sys.platform != SYSTEM:  # elsewhere the question costs no import of PyTorch
        raise TileError(
            "E3008",
            "there is no Apple GPU",
            notes=(f"the system is {sys.platform}",),
            help="To compile only, name an architecture: target='metal -arch=apple9'.",
        )
    from tile_metal import device  # only a device that is asked for needs PyTorch

    return arch_for(device.chip())
