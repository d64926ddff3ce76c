"""Which description fits the GPU at hand."""

from __future__ import annotations

from tile_ir.diag import TileError
from tile_rocm import knobs, spec

__all__ = ["arch_for", "host_arch"]


def arch_for(name: str) -> str:
    """The description for a device that calls its architecture `name`; code for one runs on no
    other. Raises TileError E3014 where there is none."""
    if name in spec.names():
        return name
    raise TileError(
        "E3014",
        f"no description fits a device of architecture {name}",
        notes=(f"described: {', '.join(spec.names())}",),
        help="One more architecture without new instructions is a file of a few lines.",
    )


def host_arch() -> str:
    """The description for the current device; TILE_ROCM_ARCH overrides it.

    Raises TileError E3008 (no device), E3012 (no binding), E3014 (none fits).
    """
    asked = knobs.requested_arch()
    if asked is not None:
        return asked
    from tile_rocm import device  # only a device that is asked for needs the libraries

    return arch_for(device.arch_name(device.current_device()))
