"""Memory that launches leave to later ones of the same stream: the counters from which blocks draw
their tiles.

Launches of one stream follow each other, so they can share a counter; launches of two streams never
do. What is captured into a graph gets a piece of its own, since the graph may be launched beside
anything: replays of one instance follow each other as well. Pieces begin with zeros, are 32 bytes
apart and are never used again for something else, because nobody can tell when a graph is gone.
Launches leave zeros (see `Claim`), so none has to clear them. A launch that is broken off leaves
something else, but takes the device's context with it, and with that the memory.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tile_cuda import device as devices
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Kept"]

SLAB_BYTES = 1 << 18
SECTOR = 32
"""Bytes that the cache moves together: pieces of two streams do not share them."""
LEGACY, LEGACY_TOO, PER_THREAD = 0, 1, 2
"""Handles of default streams (cudaStreamLegacy, cudaStreamPerThread): the last one names another
stream in each thread, the first two can never be captured."""


class _Slab:
    """The rest of a block of zeroed memory on one device."""

    def __init__(self, device: int) -> None:
        self.device = device
        self._next = self._end = 0

    def piece(self, size: int, *, captured: bool) -> int:
        """The address of so many bytes of zeros.

        Raises:
            TileError: E3018 where there is none left and the device may not be asked for more.
        """
        step = -(-size // SECTOR) * SECTOR
        if not captured and self._end - self._next < max(SLAB_BYTES // 2, step):
            # Half of it is spare for graphs: nothing can be allocated while one is captured.
            self._next = devices.zeroed(max(SLAB_BYTES, step), self.device)
            self._end = self._next + max(SLAB_BYTES, step)
        if self._end - self._next < step:
            raise TileError(
                "E3018",
                "no memory is left for what a captured launch keeps",
                notes=("the device allocates none while a graph is captured",),
                help="Call the kernel once outside of the capture, then capture it.",
            )
        found, self._next = self._next, self._next + step
        return found


_lock = threading.Lock()
_slabs: dict[int, _Slab] = {}


class Kept:
    """The pieces of one kernel on one device, a piece for each stream and each captured launch."""

    def __init__(self, size: int, device: int) -> None:
        self.size, self.device = size, device
        self._pieces: dict[Hashable, int] = {}
        with _lock:
            _slabs.setdefault(device, _Slab(device))

    def at(self, stream: int) -> int:
        """The address for a launch on a stream, which the caller makes now.

        Raises:
            TileError: E3018 as above.
        """
        if stream > LEGACY_TOO and devices.is_captured(stream):
            with _lock:
                return _slabs[self.device].piece(self.size, captured=True)
        key: Hashable = stream
        if stream == PER_THREAD:
            key = stream, threading.get_ident()
        elif stream == LEGACY_TOO:
            key = LEGACY
        found = self._pieces.get(key)
        if found is None:
            with _lock:
                made = _slabs[self.device].piece(self.size, captured=False)
                found = self._pieces.setdefault(key, made)
        return found
