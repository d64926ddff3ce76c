"""Arrays on a GPU for a kernel in a wheel: those of CuPy and Numba by their interface, streams of
PyTorch and CuPy. Copied into wheels, where it runs without our packages."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

__all__ = ["current_stream", "empty", "tensor_of"]

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
"""Letter of a type string -> type code of DLPack."""


def current_stream(args: Any) -> int:
    """The handle of the current stream of the library that the arguments come from."""
    for array in args:
        library = type(array).__module__.partition(".")[0]
        if library == "torch" and array.is_cuda:
            return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
        if library == "cupy":
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return 0


def tensor_of(array: Any, tensor_type: Any) -> tuple[Any, ...] | None:
    """A pointer to the array as a tensor, and what keeps it alive; None for arrays that rather
    speak DLPack. Raises ValueError for element types that have no letter."""
    if type(array).__module__.partition(".")[0] == "torch":
        return None
    told = getattr(array, "__cuda_array_interface__", None)
    if told is None:
        return None
    letter, size = told["typestr"][1], int(told["typestr"][2:])
    if letter not in _CODES:
        raise ValueError(f"E2002: arrays of {told['typestr']} are not taken")
    shape, steps = told["shape"], told.get("strides")
    rank = len(shape)
    extents = (ctypes.c_int64 * max(rank, 1))(*shape)
    strides = (
        None if steps is None else (ctypes.c_int64 * max(rank, 1))(*(s // size for s in steps))
    )
    device = getattr(getattr(array, "device", None), "id", 0)
    int64s = ctypes.POINTER(ctypes.c_int64)
    tensor = tensor_type(
        told["data"][0] or None, 2, device, rank, _CODES[letter], 8 * size, 1,
        ctypes.cast(extents, int64s), None if strides is None else ctypes.cast(strides, int64s), 0,
    )  # fmt: skip
    return ctypes.pointer(tensor), tensor, extents, strides, array


def empty(example: Any, shape: tuple[int, ...], name: str) -> Any:
    """A new CuPy array. Raises ImportError without CuPy, TypeError for a type that it lacks."""
    import cupy

    device = getattr(example, "device", None)
    with device if device is not None and hasattr(device, "__enter__") else cupy.cuda.Device():
        return cupy.empty(shape, name)
