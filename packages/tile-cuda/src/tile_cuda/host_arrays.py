"""Compiled functions called with arrays of this process: for comparisons of results, where nobody
holds memory of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tile_cuda.runtime import CudaFunction

__all__ = ["OnHostArrays"]


class OnHostArrays:
    """A function that takes a flat numpy array of bytes where its own takes an address: each is
    copied to the current device, and back after the launch."""

    arguments = "arrays"

    def __init__(self, function: CudaFunction) -> None:
        self.function = function

    def __call__(self, *slots: Any) -> None:
        """Launch and wait. Raises as the function does, and what cupy raises for a fault."""
        import cupy
        import numpy as np

        moved = [(s, cupy.asarray(s)) for s in slots if isinstance(s, np.ndarray)]
        places = iter(moved)
        self.function(
            *(next(places)[1].data.ptr if isinstance(s, np.ndarray) else s for s in slots)
        )
        cupy.cuda.runtime.deviceSynchronize()
        for array, there in moved:
            array[...] = there.get()
