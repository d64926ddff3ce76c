"""Prepared launches of one kernel on one device.

A launch packs the arguments into a block of memory that the thread keeps, and makes one call of the
driver, which copies them. The block is laid out as C would lay out a structure, and an array of
pointers into it, which the driver wants, is made once. Arguments that are the same in all launches
stand behind the others, where they are written once.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tile_cuda import device as devices
from tile_cuda.captures import TENSOR_MAP
from tile_cuda.tensor_maps import MAP_BYTES
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Entry", "Layout", "ThreadArguments", "launch_refused", "prepare_launch", "too_many"]

MAX_BLOCKS = (1 << 31) - 1
"""Largest first dimension of a grid (CUDA C++ Programming Guide, technical specifications)."""


WIDE_FORMATS = {TENSOR_MAP: f"{MAP_BYTES}s"}
"""Letters of parameters -> their format in `struct` where that is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A loaded kernel: the driver's handle, its name, the letters of its parameters, threads of a
    block, bytes of dynamic shared memory."""

    function: int
    name: str
    formats: str
    threads: int
    shared: int


class Layout:
    """Where each argument of a kernel lies: letters of `struct` formats, aligned as in C.

    `fixed` has the values of those that are the same in all launches, by position; `packer` writes
    the others, in order.
    """

    def __init__(self, formats: str, fixed: Mapping[int, Any] = MappingProxyType({})) -> None:
        parts = [WIDE_FORMATS.get(letter, letter) for letter in formats]
        order = sorted(range(len(parts)), key=lambda i: i in fixed)
        placed, offsets = "@", {}
        for i in order:
            placed += parts[i]
            # The size up to an argument's end, less its own, is where its alignment put it.
            offsets[i] = struct.calcsize(placed) - struct.calcsize(f"@{parts[i]}")
        self.packer = struct.Struct("@" + "".join(parts[i] for i in order if i not in fixed))
        self.offsets = tuple(offsets[i] for i in range(len(parts)))
        self.size = struct.calcsize(placed)
        self.fixed = tuple((offsets[i], f"@{parts[i]}", value) for i, value in fixed.items())


class ThreadArguments(threading.local):
    """One thread's arguments; `block` is their memory and the address of the pointers to them. A
    new thread gets the device's context."""

    def __init__(self, layout: Layout) -> None:
        devices.ensure_context()
        memory = ctypes.create_string_buffer(max(layout.size, 1))
        for offset, part, value in layout.fixed:
            struct.pack_into(part, memory, offset, value)
        start = ctypes.addressof(memory)
        count = max(len(layout.offsets), 1)
        self._pointers = (ctypes.c_void_p * count)(*(start + o for o in layout.offsets))
        self.block = (memory, ctypes.addressof(self._pointers))


def prepare_launch(entry: Entry, device: int) -> Callable[..., None]:
    """A function of (blocks, *arguments) that launches on the device's current stream.

    It raises TileError E3009 where the driver refuses, E3011 for too many blocks.
    """
    driver, layout = devices.driver(), Layout(entry.formats)
    launch_kernel, pack_into = driver.launchKernel, layout.packer.pack_into
    function, threads, shared = entry.function, entry.threads, entry.shared
    arguments, stream = ThreadArguments(layout), devices.current_stream

    def launch(blocks: int, *values: Any) -> None:
        if blocks > MAX_BLOCKS:
            raise too_many(blocks)
        memory, pointers = arguments.block
        pack_into(memory, 0, *values)
        try:
            launch_kernel(
                function,
                *(blocks, 1, 1),
                *(threads, 1, 1),
                shared,
                stream(device),
                pointers,
                0,
            )
        except driver.CUDADriverError as error:
            raise launch_refused(error) from error

    return launch


def too_many(blocks: int) -> TileError:
    """E3011 for a grid that the driver would not take."""
    return TileError(
        "E3011",
        f"a launch of {blocks} blocks",
        notes=(f"a grid has at most {MAX_BLOCKS}",),
        help="Use larger blocks, so that fewer are needed.",
    )


def launch_refused(error: Exception) -> TileError:
    """E3009 for what the driver says of a launch."""
    return TileError(
        "E3009",
        f"the driver refused the launch: {error}",
        help="An earlier kernel may have failed: run with CUDA_LAUNCH_BLOCKING=1 to see which.",
    )
