"""The device through PyTorch: which one it is, loading source, memory. Imported only by who runs
kernels; PyTorch is imported at the first question."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from tile_ir.diag import TileError
from tile_metal.memory_orders import DEMAND

__all__ = ["allocate", "chip", "compile_shader", "cores"]

COMPILE_ONLY = "To compile only, name an architecture: target='metal -arch=apple9'."
NEWER = "Run on macOS 15 or later, or leave memory orders out and split the kernel."
CHIP = re.compile(r"\bApple M(\d+)")


@cache
def _torch() -> Any:
    """PyTorch with a GPU. Raises TileError E3012 without PyTorch, E3008 without a device."""
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise TileError(
            "E3012",
            "PyTorch, through which kernels are loaded and launched, is not installed",
            notes=(str(error),),
            help=f"pip install torch. {COMPILE_ONLY}",
        ) from error
    if not torch.backends.mps.is_available():
        raise TileError(
            "E3008",
            "there is no Apple GPU",
            notes=("torch.backends.mps.is_available() is False",),
            help=COMPILE_ONLY,
        )
    if not hasattr(torch.mps, "compile_shader"):
        raise TileError(
            "E3012",
            f"PyTorch {torch.__version__} cannot load kernels",
            notes=("torch.mps.compile_shader is there from 2.7 on",),
            help="pip install -U torch.",
        )
    return torch


def compile_shader(source: str) -> Any:
    """The library that a text is; its attributes are the kernels. Raises TileError E3007 where the
    system's compiler refuses it, E3015 where it is too old, E3008 and E3012 without a device."""
    torch = _torch()
    try:
        return torch.mps.compile_shader(source)
    except (RuntimeError, SyntaxError) as error:
        if DEMAND in str(error):
            raise TileError("E3015", DEMAND, help=NEWER) from error
        raise TileError(
            "E3007",
            "the system's compiler refuses the kernel",
            notes=str(error).splitlines()[:3],
            help="Please report this kernel; TILE_KEEP_SOURCE=1 leaves its source.",
        ) from error


def chip() -> int:
    """The number of the chip: 3 of "Apple M3 Pro". Raises TileError E3014 for one without."""
    name = _torch().backends.mps.get_name()
    match = CHIP.search(name)
    if match is None:
        raise TileError(
            "E3014",
            f"no description fits a device called {name!r}",
            help="Name the nearest one: target='metal -arch=apple7'.",
        )
    return int(match[1])


def cores() -> int:
    """How many cores the GPU has."""
    return int(_torch().backends.mps.get_core_count())


def allocate(size: int) -> Any:
    """A tensor of at least `size` bytes, in the order of the current stream."""
    torch = _torch()
    return torch.empty(max(size, 1), dtype=torch.uint8, device="mps")
