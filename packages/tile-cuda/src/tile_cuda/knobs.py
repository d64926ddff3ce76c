"""Environment settings of the CUDA target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two compilations.
"""

from __future__ import annotations

from tile_ir.environment import choice, flag, keep_source, text

__all__ = [
    "compiler",
    "keep_source",
    "line_info",
    "nvcc_path",
    "nvrtc_path",
    "requested_arch",
    "toolkit_folders",
]

COMPILERS = ("nvrtc", "nvcc")


def compiler() -> str | None:
    """Which compiler the user asked for (``TILE_CUDA_COMPILER``): nvrtc, nvcc, or None.

    Raises TileError E3001 for any other text.
    """
    return choice("TILE_CUDA_COMPILER", COMPILERS, "E3001")


def nvrtc_path() -> str | None:
    """Path of the NVRTC library to use (``TILE_CUDA_NVRTC``), or None to look for one."""
    return text("TILE_CUDA_NVRTC")


def nvcc_path() -> str | None:
    """Path of nvcc (``NVCC``), or None to look for one."""
    return text("NVCC")


def toolkit_folders() -> tuple[str, ...]:
    """Folder with the libraries of the CUDA toolkit that ``CUDA_PATH`` names, if it does."""
    root = text("CUDA_PATH")
    return (f"{root}/lib64",) if root else ()


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_CUDA_ARCH``), or None for the device's."""
    return text("TILE_CUDA_ARCH")


def line_info() -> bool:
    """Whether kernels carry source lines for profilers (``TILE_CUDA_LINE_INFO=1``)."""
    return flag("TILE_CUDA_LINE_INFO")
