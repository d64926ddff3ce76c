"""Arrays of any other library, through the DLPack protocol, when they are in host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_frontend.adapters.base import ArrayInfo
from tile_frontend.adapters.numpy_arrays import NumpyAdapter
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType

_HOST = 1
_DEVICES = {_HOST: "cpu", 3: "pinned host memory"}


class DlpackAdapter:
    """Anything with `__dlpack__`. Outputs are numpy arrays."""

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
        if kind != _HOST:
            device = _DEVICES.get(kind, f"device type {kind} of DLPack")
            return ArrayInfo(self._guess(x), tuple(x.shape), None, device)
        return self._numpy.inspect(self._view(x))

    def address(self, x: Any) -> int:
        """The address of its first element."""
        return self._numpy.address(self._view(x))

    def maker(self, shape: tuple[int, ...], dtype: DType, device: str) -> Callable[[], Any]:
        """What makes new numpy arrays."""
        return self._numpy.maker(shape, dtype, device)

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


ADAPTER = DlpackAdapter()
