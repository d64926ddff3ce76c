"""The driver through CuPy: devices, streams, memory. Imported only by who runs kernels.

Everything here asks the libraries that the user already works with: the current stream is PyTorch's
where PyTorch runs on the GPU, else CuPy's, and workspaces come from the pool of the same library,
so that reuse follows the order of that stream.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "allocate",
    "capability",
    "count",
    "current_device",
    "current_stream",
    "driver",
    "ensure_context",
    "is_captured",
    "made_current",
    "make_current",
    "multiprocessors",
    "stream_of",
    "zeroed",
]

CAPABILITY_MAJOR, CAPABILITY_MINOR, MULTIPROCESSORS = 75, 76, 16
"""Attributes of a device: cudaDevAttrComputeCapabilityMajor, Minor, MultiProcessorCount."""
BINDING = "tile-cuda[cuda13]"
COMPILE_ONLY = "To compile only, name an architecture: target='cuda -arch=sm_90a'."


@cache
def _modules() -> tuple[Any, Any]:
    """CuPy's modules of the driver and of the runtime. Raises TileError E3012 without CuPy."""
    try:
        found, runtime = (
            import_module(f"cupy_backends.cuda.api.{n}") for n in ("driver", "runtime")
        )
    except ImportError as error:
        raise TileError(
            "E3012",
            "CuPy, through which kernels are loaded and launched, is not installed",
            notes=(str(error),),
            help=f"pip install '{BINDING}'. {COMPILE_ONLY}",
        ) from error
    return found, runtime


def driver() -> Any:
    """CuPy's module of driver functions. Raises TileError E3012 without CuPy."""
    return _modules()[0]


@cache
def _device_getter() -> Callable[[], int]:
    getter: Callable[[], int] = _modules()[1].getDevice
    return getter


def current_device() -> int:
    """The ordinal of the calling thread's device. Raises TileError E3008 where there is none."""
    try:
        return _device_getter()()
    except TileError:
        raise
    except Exception as error:
        raise _no_device(error) from error


def make_current(device: int) -> None:
    """Make a device the calling thread's. Raises TileError E3008 where there is no such device."""
    try:
        _modules()[1].setDevice(device)
    except TileError:
        raise
    except Exception as error:
        raise _no_device(error) from error


def _no_device(error: Exception) -> TileError:
    return TileError(
        "E3008",
        "there is no CUDA device",
        notes=(str(error),),
        help=COMPILE_ONLY,
    )


@contextmanager
def made_current(device: int, current: int) -> Iterator[None]:
    """Make `device` the calling thread's for a while; `current` is its own. Raises TileError
    E3008 where there is no such device.
    """
    if device == current:
        yield
        return
    make_current(device)
    try:
        yield
    finally:
        make_current(current)


@cache
def count() -> int:
    """How many devices this process sees."""
    found: int = _modules()[1].getDeviceCount()
    return found


def ensure_context() -> None:
    """Make the device's context current in this thread, which driver calls need."""
    _modules()[1].free(0)


def _attribute(which: int, device: int) -> int:
    try:
        value: int = _modules()[1].deviceGetAttribute(which, device)
    except TileError:
        raise
    except Exception as error:
        raise _no_device(error) from error
    return value


def capability(device: int) -> tuple[int, int]:
    """Compute capability, major and minor. Raises TileError E3008 without a device."""
    return _attribute(CAPABILITY_MAJOR, device), _attribute(CAPABILITY_MINOR, device)


def multiprocessors(device: int) -> int:
    """How many multiprocessors the device has."""
    return _attribute(MULTIPROCESSORS, device)


@cache
def _torch_stream() -> Callable[[int], int] | None:
    """PyTorch's query of its current stream; None where PyTorch was built without CUDA."""
    return getattr(sys.modules["torch"]._C, "_cuda_getCurrentRawStream", None)


def current_stream(device: int) -> int:
    """The handle of the current stream: PyTorch's unless that is the default one, then CuPy's."""
    if "torch" in sys.modules:
        query = _torch_stream()
        found = query(device) if query else 0
        if found:
            return found
    if "cupy" in sys.modules:
        return _cupy_stream(device)
    return 0


def stream_of(library: str | None) -> Callable[[int], int]:
    """What gives the handle of a library's current stream on a device."""
    if library == "torch":
        return _torch_stream() or current_stream
    if library == "cupy":
        return _cupy_stream
    return current_stream


def _cupy_stream(device: int) -> int:
    return int(sys.modules["cupy"].cuda.get_current_stream().ptr)


def is_captured(stream: int) -> bool:
    """Whether what is launched on a stream goes into a graph instead."""
    found: bool = _modules()[1].streamIsCapturing(stream)
    return found


def zeroed(size: int, device: int) -> int:
    """The address of device memory full of zeros, which is never given back. No graph may be under
    capture, and all streams see the zeros: the device has been waited for."""
    runtime = _modules()[1]
    with made_current(device, current_device()):
        address: int = runtime.malloc(size)
        runtime.memset(address, 0, size)
        runtime.deviceSynchronize()
    return address


def allocate(size: int, device: int) -> tuple[object, int]:
    """Device memory of at least `size` bytes, in the order of the current stream.

    Returns its owner (memory is given back when that goes) and its address.
    """
    if "torch" in sys.modules and _torch_stream() is not None:
        torch = sys.modules["torch"]
        tensor = torch.empty(max(size, 1), dtype=torch.uint8, device=f"cuda:{device}")
        return tensor, int(tensor.data_ptr())
    memory = import_module("cupy").cuda.alloc(max(size, 1))
    return memory, int(memory.ptr)
