"""Prepared launches of one kernel on one device.

A launch packs the arguments into a block of memory that the thread keeps, and makes one call of the
driver, which copies them. The block is laid out as C would lay out a structure, and an array of
pointers into it, which the driver wants, is made once.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_rocm import device as devices

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Layout", "prepare_launch"]

MAX_THREADS = (1 << 32) - 1
"""Threads of one dimension of a launch, which the packet that starts it holds in 32 bits."""


class Layout:
    """Where each argument of a kernel lies: letters of `struct` formats, aligned as in C."""

    def __init__(self, formats: str) -> None:
        self.packer = struct.Struct(f"@{formats}")
        # The size up to an argument's end, less its own, is where its alignment put it.
        self.offsets = tuple(
            struct.calcsize(f"@{formats[: i + 1]}") - struct.calcsize(f"@{letter}")
            for i, letter in enumerate(formats)
        )
        self.size = self.packer.size


class _Block(threading.local):
    """One thread's arguments, and the pointers to them."""

    def __init__(self, layout: Layout) -> None:
        self.memory = ctypes.create_string_buffer(max(layout.size, 1))
        start = ctypes.addressof(self.memory)
        count = max(len(layout.offsets), 1)
        self._pointers = (ctypes.c_void_p * count)(*(start + o for o in layout.offsets))
        self.pointers = ctypes.addressof(self._pointers)


def prepare_launch(function: Any, layout: Layout, threads: int, device: int) -> Callable[..., None]:
    """A function of (blocks, *arguments) that launches on the device's current stream.

    `function` is the driver's handle. It raises TileError E3009 where the driver refuses, E3011 for
    too many blocks.
    """
    hip = devices.binding()
    launch_kernel, pack_into = hip.launch, layout.packer.pack_into
    block, stream, most = _Block(layout), devices.current_stream, MAX_THREADS // threads

    def launch(blocks: int, *values: Any) -> None:
        if blocks > most:
            raise _too_many(blocks, most)
        pack_into(block.memory, 0, *values)
        try:
            launch_kernel(function, blocks, threads, stream(device), block.pointers)
        except hip.errors as error:
            raise _refused(error) from error

    return launch


def _too_many(blocks: int, most: int) -> TileError:
    return TileError(
        "E3011",
        f"a launch of {blocks} blocks",
        notes=(f"with so many threads each, there are at most {most}",),
        help="Use larger blocks, so that fewer are needed.",
    )


def _refused(error: Exception) -> TileError:
    return TileError(
        "E3009",
        f"the driver refused the launch: {error}",
        help="An earlier kernel may have failed: run with AMD_SERIALIZE_KERNEL=3 to see which.",
    )
