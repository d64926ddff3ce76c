"""Arrays of CuPy, which live on an accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy

from tile_frontend.adapters.base import ArrayCode, ArrayInfo, packed_shape
from tile_frontend.trace.element_types import numpy_dtype
from tile_ir import types
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType


_CODE = ArrayCode("{0}.dtype, {0}.shape, {0}.strides, {0}.device.id", "{0}.data.ptr")


class CupyAdapter:
    """cupy.ndarray."""

    library = "cupy"

    def describe(self, x: Any) -> Any:
        """Element type, extents, strides in bytes, device."""
        return (x.dtype, x.shape, x.strides, x.device.id)

    def inspect(self, x: Any) -> ArrayInfo:
        """Everything about the array but its data."""
        size = x.itemsize
        whole = all(s % size == 0 for s in x.strides)
        strides = tuple(s // size for s in x.strides) if whole else None
        # The module that defines the device's class is named after the kind of device.
        kind = type(x.device).__module__.split(".")[1]
        return ArrayInfo(types.dtype(x.dtype), x.shape, strides, kind, True, x.device.id)

    def address(self, x: Any) -> int:
        """The address of its first element."""
        address: int = x.data.ptr
        return address

    def code(self, x: Any) -> ArrayCode:
        """The code for all arrays."""
        return _CODE

    def memory(self, x: Any) -> Any:
        """Its piece of memory, which other arrays may share."""
        return x.data

    def maker(self, shape: tuple[int, ...], dtype: DType, device: str) -> Callable[[], Any]:
        """What makes new arrays on that device; types narrower than a byte are stored packed, in
        bytes."""
        kind, _, index = device.partition(":")
        element = "u1" if dtype.storage_bits < 8 else numpy_dtype(dtype)
        stored, place = packed_shape(shape, dtype), getattr(cupy, kind).Device
        number = tuple(map(int, index.split()))

        def make() -> Any:
            with place(*number):
                try:
                    return cupy.empty(stored, element)
                except TypeError as cause:
                    text = f"cupy has no dtype for an output of {dtype}"
                    raise TileError("E2013", text, help="return another type") from cause

        return make


ADAPTER = CupyAdapter()
