"""Environment settings of the ROCm target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two compilations.
"""

from __future__ import annotations

import os

from tile_ir.diag import TileError

__all__ = ["compiler", "keep_source", "line_info", "requested_arch", "toolkit_folder"]

COMPILERS = ("clang", "ziglang")


def compiler() -> str | None:
    """Which compiler the user asked for (``TILE_ROCM_COMPILER``): clang, ziglang, or None.

    Raises TileError E3001 for any other text.
    """
    text = os.environ.get("TILE_ROCM_COMPILER") or None
    if text is None or text in COMPILERS:
        return text
    raise TileError(
        "E3001",
        f"TILE_ROCM_COMPILER is {text!r}",
        help=f"Set it to one of {', '.join(COMPILERS)}, or unset it.",
    )


def toolkit_folder() -> str:
    """The folder of the ROCm toolkit (``ROCM_PATH``)."""
    return os.environ.get("ROCM_PATH") or "/opt/rocm"


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_ROCM_ARCH``), or None for the device's."""
    return os.environ.get("TILE_ROCM_ARCH") or None


def keep_source() -> bool:
    """Whether the source is left beside each compiled kernel (``TILE_KEEP_SOURCE=1``)."""
    return os.environ.get("TILE_KEEP_SOURCE", "0") not in ("", "0")


def line_info() -> bool:
    """Whether kernels carry source lines for profilers (``TILE_ROCM_LINE_INFO=1``)."""
    return os.environ.get("TILE_ROCM_LINE_INFO", "0") not in ("", "0")
