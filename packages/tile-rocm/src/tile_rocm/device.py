"""The driver: devices, streams, memory. Imported only by who runs kernels.

CuPy built for ROCm and the package hip-python both offer the HIP functions that are needed; the
first one found is used. The current stream is PyTorch's where PyTorch runs on the GPU, else CuPy's,
and workspaces come from the pool of the same library, so that reuse follows the order of that
stream.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_rocm.bindings import Binding, CupyBinding, HipPythonBinding

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "allocate",
    "arch_name",
    "binding",
    "current_device",
    "current_stream",
    "make_current",
    "multiprocessors",
]

COMPILE_ONLY = "To compile only, name an architecture: target='rocm -arch=gfx942'."


@cache
def binding() -> Binding:
    """The functions of HIP, from CuPy or hip-python. Raises TileError E3012 without either."""
    said = []
    for load in (CupyBinding.found, HipPythonBinding.found):
        try:
            return load()
        except ImportError as error:
            said.append(str(error))
    raise TileError(
        "E3012",
        "neither CuPy for ROCm nor hip-python, through which kernels are launched, is installed",
        notes=said,
        help=f"Install CuPy's build for your ROCm, or hip-python. {COMPILE_ONLY}",
    )


def _asked(call: Callable[[], Any]) -> Any:
    """What the driver answers. Raises TileError E3008 where it has no device."""
    try:
        return call()
    except TileError:
        raise
    except Exception as error:
        raise TileError(
            "E3008", "there is no AMD GPU", notes=(str(error),), help=COMPILE_ONLY
        ) from error


def current_device() -> int:
    """The ordinal of the calling thread's device. Raises TileError E3008 where there is none."""
    found: int = _asked(lambda: binding().get_device())
    return found


def make_current(device: int) -> None:
    """Make a device the calling thread's. Raises TileError E3008 where there is no such device."""
    _asked(lambda: binding().set_device(device))


def arch_name(device: int) -> str:
    """The name of its architecture, without the settings behind it: gfx942 of
    gfx942:sramecc+:xnack-. Raises TileError E3008 without a device."""
    found: str = _asked(lambda: binding().arch_name(device))
    return found.partition(":")[0]


def multiprocessors(device: int) -> int:
    """How many compute units the device has. Raises TileError E3008 without a device."""
    found: int = _asked(lambda: binding().multiprocessors(device))
    return found


@cache
def _torch_stream() -> Callable[[int], int] | None:
    """PyTorch's query of its current stream; None where PyTorch was built for no GPU."""
    return getattr(sys.modules["torch"]._C, "_cuda_getCurrentRawStream", None)


def current_stream(device: int) -> int:
    """The handle of the current stream: PyTorch's unless that is the default one, then CuPy's."""
    if "torch" in sys.modules:
        query = _torch_stream()
        found = query(device) if query else 0
        if found:
            return found
    if "cupy" in sys.modules:
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return 0


def allocate(size: int, device: int) -> tuple[object, int]:
    """Device memory of at least `size` bytes, in the order of the current stream.

    Returns its owner (memory is given back when that goes) and its address. PyTorch calls AMD's
    devices by the name of the first kind that it supported.
    """
    if "torch" in sys.modules and _torch_stream() is not None:
        torch = sys.modules["torch"]
        tensor = torch.empty(max(size, 1), dtype=torch.uint8, device=f"cuda:{device}")
        return tensor, int(tensor.data_ptr())
    memory = import_module("cupy").cuda.alloc(max(size, 1))
    return memory, int(memory.ptr)
