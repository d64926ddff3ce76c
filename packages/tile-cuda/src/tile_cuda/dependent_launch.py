"""Launches of kernels that may begin before the kernel in front of them in their stream has ended.

Such a launch is a configuration with an attribute (programmatic stream serialization, CUDA driver
API, `cuLaunchKernelEx`), which CuPy does not wrap. A graph that captures it keeps the attribute as
the kind of the edge between the two kernels.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int, c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from tile_cuda import device as devices

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["launch_dependent"]

DRIVER = "libcuda.so.1"
PROGRAMMATIC_STREAM_SERIALIZATION = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""
VALUE_BYTES = 64
"""The size of CUlaunchAttributeValue."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: its number at 0, its value at 8."""

    _fields_ = (
        ("number", c_uint),
        ("pad", c_uint),
        ("value", c_int),
        ("rest", ctypes.c_char * (VALUE_BYTES - 4)),
    )


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", POINTER(_Attribute)),
        ("count", c_uint),
    )


_ALLOWED = ctypes.pointer(_Attribute(number=PROGRAMMATIC_STREAM_SERIALIZATION, value=1))


@cache
def _launch_ex() -> Callable[..., int]:
    function: Any = ctypes.CDLL(DRIVER).cuLaunchKernelEx
    function.argtypes = (c_void_p, c_void_p, c_void_p, c_void_p)
    return function  # type: ignore[no-any-return]


def launch_dependent(
    function: int, blocks: int, threads: int, shared: int, stream: int, pointers: int
) -> None:
    """Launch a loaded kernel; `pointers` is the address of the addresses of its arguments.

    Raises CuPy's CUDADriverError where the driver refuses.
    """
    config = _Config((blocks, 1, 1), (threads, 1, 1), shared, stream, _ALLOWED, 1)
    status = _launch_ex()(byref(config), function, pointers, None)
    if status:
        raise devices.driver().CUDADriverError(status)
