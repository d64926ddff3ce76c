"""Environment settings of the ROCm target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two compilations.
"""

from __future__ import annotations

from tile_ir.environment import choice, flag, keep_source, text

__all__ = ["compiler", "keep_source", "line_info", "requested_arch", "toolkit_folder"]

COMPILERS = ("clang", "ziglang")


def compiler() -> str | None:
    """Which compiler the user asked for (``TILE_ROCM_COMPILER``): clang, ziglang, or None.

    Raises TileError E3001 for any other text.
    """
    return choice("TILE_ROCM_COMPILER", COMPILERS, "E3001")


def toolkit_folder() -> str:
    """The folder of the ROCm toolkit (``ROCM_PATH``)."""
    return text("ROCM_PATH") or "/opt/rocm"


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_ROCM_ARCH``), or None for the device's."""
    return text("TILE_ROCM_ARCH")


def line_info() -> bool:
    """Whether kernels carry source lines for profilers (``TILE_ROCM_LINE_INFO=1``)."""
    return flag("TILE_ROCM_LINE_INFO")
