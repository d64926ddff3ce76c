"""Arrays of numpy, with the narrow floats of ml_dtypes where that is installed."""

from __future__ import annotations

from ctypes import addressof, c_char
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.adapters.base import NO_ADDRESS, ArrayCode, ArrayInfo, packed_shape
from tile_frontend.trace.element_types import numpy_dtype
from tile_ir import types

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType


_CODE = ArrayCode(
    key="{0}.dtype, {0}.shape, {0}.__class__",
    address="addressof(buffer_of({0}))",
    names={"addressof": addressof, "buffer_of": c_char.from_buffer},
    may_fail=True,
)
"""Of writable arrays without gaps, whose buffer ctypes takes; it refuses all others. A class may be
one of masked arrays, whose memory is that of any array."""


class NumpyAdapter:
    """numpy.ndarray."""

    library = "numpy"

    def describe(self, x: Any) -> Any:
        """Element type, extents, strides in bytes, writability, class."""
        return (x.dtype, x.shape, x.strides, x.flags.writeable, type(x))

    def obstacle(self, x: Any) -> str:
        """Why a kernel cannot read its memory."""
        if isinstance(x, np.ma.MaskedArray):
            return "some of its numbers are masked: pass x.filled(value), or x.data and the mask"
        if not x.dtype.isnative:
            return "its bytes are in another order: pass x.astype(x.dtype.newbyteorder('='))"
        return ""

    def inspect(self, x: Any) -> ArrayInfo:
        """Everything about the array but its data."""
        size = x.itemsize
        whole = all(s % size == 0 for s in x.strides)
        strides = tuple(s // size for s in x.strides) if whole else None
        return ArrayInfo(types.dtype(x.dtype), x.shape, strides, "cpu", x.flags.writeable)

    def address(self, x: Any) -> int:
        """The address of its first element."""
        try:
            return addressof(c_char.from_buffer(x))
        except NO_ADDRESS:
            # Three times as slow, but it takes empty, read-only, strided and narrow arrays too.
            address: int = x.__array_interface__["data"][0]
            return address

    def code(self, x: Any) -> ArrayCode | None:
        """The code for arrays like this one, if it is writable and without gaps."""
        try:
            c_char.from_buffer(x)
        except NO_ADDRESS:
            return None
        return _CODE

    def maker(self, shape: tuple[int, ...], dtype: DType, device: str) -> Callable[[], Any]:
        """What makes new arrays on the host; types narrower than a byte are stored packed, in
        bytes."""
        if dtype.storage_bits < 8:
            return partial(np.empty, packed_shape(shape, dtype), np.uint8)
        return partial(np.empty, shape, numpy_dtype(dtype))


ADAPTER = NumpyAdapter()
