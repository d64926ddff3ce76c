"""Arrays of any other library, through the DLPack protocol: in host memory, and in that of a device
where torch is loaded or CuPy installed, which can see it."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend import adapters
from tile_frontend.adapters.base import Adapter, ArrayInfo
from tile_frontend.adapters.numpy_arrays import NumpyAdapter
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType

_HOST = 1
_PINNED = 3
_DEVICE_LIBRARIES = ("torch", "cupy")
"""Who can see memory of a device through the protocol, in the order in which they are asked."""


class DlpackAdapter:
    """Anything with `__dlpack__`. Outputs are numpy arrays, or those of the library that sees the
    device's memory."""

    library = "dlpack"

    def __init__(self) -> None:
        self._numpy = NumpyAdapter()

    def describe(self, x: Any) -> Any:
        """The identity of the view: other libraries promise no cheap access to strides."""
        info = self.inspect(x)
        return (type(x), info)

    def inspect(self, x: Any) -> ArrayInfo:
        """Everything about the array but its data."""
        kind = int(x.__dlpack_device__()[0])
        if kind == _HOST:
            return self._numpy.inspect(self._view(x))
        view = None if kind == _PINNED else _on_device(x)
        if view is None:
            where = "pinned host memory" if kind == _PINNED else f"device type {kind} of DLPack"
            return ArrayInfo(self._guess(x), tuple(x.shape), None, where)
        # The libraries that see it do not say whether it may be written to.
        return replace(_adapter(view).inspect(view), writable=False)

    def address(self, x: Any) -> int:
        """The address of its first element."""
        if int(x.__dlpack_device__()[0]) == _HOST:
            return self._numpy.address(self._view(x))
        view = _on_device(x)
        return _adapter(view).address(view)

    def maker(self, shape: tuple[int, ...], dtype: DType, device: str) -> Callable[[], Any]:
        """What makes new arrays."""
        return adapters.adapter_on(device).maker(shape, dtype, device)

    def _view(self, x: Any) -> Any:
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError, ValueError) as cause:
            raise TileError(
                "E2009",
                f"an object of type {type(x).__name__} cannot be read through DLPack: {cause}",
                help="pass a numpy array or a torch tensor",
            ) from cause

    def _guess(self, x: Any) -> DType:
        from tile_ir.types import dtype  # only an array of a foreign device comes here

        return dtype(getattr(x, "dtype", float))


def _on_device(x: Any) -> Any:
    """The array as one of a library that knows its device; None where there is none. Making it
    lets the device's current stream wait for what still writes to the array."""
    for name in _DEVICE_LIBRARIES:
        if name in sys.modules or (name == "cupy" and find_spec(name) is not None):
            try:
                return import_module(name).from_dlpack(x)
            except (
                AttributeError,
                AssertionError,
                BufferError,
                RuntimeError,
                TypeError,
                ValueError,
            ):
                continue
    return None


def _adapter(view: Any) -> Adapter:
    found = adapters.adapter_for(view)
    assert found is not None  # it is an array of one of the libraries
    return found


ADAPTER = DlpackAdapter()
