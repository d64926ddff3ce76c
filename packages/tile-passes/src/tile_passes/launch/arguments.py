"""The arguments of a launch, as drivers take them: a block of memory that the thread keeps.

It is laid out as C would lay out a structure, and an array of pointers into it, which the driver
wants, is made once. Arguments that are the same in all launches stand behind the others, where they
are written once.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Layout", "ThreadArguments", "launch_refused", "too_many_blocks"]


class Layout:
    """Where each argument of a kernel lies: `formats` are those of `struct`, aligned as in C.

    `fixed` has the values of those that are the same in all launches, by position; `packer` writes
    the others, in order.
    """

    def __init__(
        self, formats: Sequence[str], fixed: Mapping[int, Any] = MappingProxyType({})
    ) -> None:
        order = sorted(range(len(formats)), key=lambda i: i in fixed)
        placed, offsets = "@", {}
        for i in order:
            placed += formats[i]
            # The size up to an argument's end, less its own, is where its alignment put it.
            offsets[i] = struct.calcsize(placed) - struct.calcsize(f"@{formats[i]}")
        self.packer = struct.Struct("@" + "".join(formats[i] for i in order if i not in fixed))
        self.offsets = tuple(offsets[i] for i in range(len(formats)))
        self.size = struct.calcsize(placed)
        self.fixed = tuple((offsets[i], f"@{formats[i]}", value) for i, value in fixed.items())


class ThreadArguments(threading.local):
    """One thread's arguments; `block` is their memory and the address of the pointers to them.

    `begin` is called once in each thread, before its first launch.
    """

    def __init__(self, layout: Layout, begin: Callable[[], object] | None = None) -> None:
        if begin is not None:
            begin()
        memory = ctypes.create_string_buffer(max(layout.size, 1))
        for offset, part, value in layout.fixed:
            struct.pack_into(part, memory, offset, value)
        start = ctypes.addressof(memory)
        count = max(len(layout.offsets), 1)
        self._pointers = (ctypes.c_void_p * count)(*(start + o for o in layout.offsets))
        self.block = (memory, ctypes.addressof(self._pointers))


def too_many_blocks(blocks: int, limit: str) -> TileError:
    """E3011 for a grid that the driver would not take; `limit` says what it takes."""
    return TileError(
        "E3011",
        f"a launch of {blocks} blocks",
        notes=(limit,),
        help="Use larger blocks, so that fewer are needed.",
    )


def launch_refused(error: Exception, one_by_one: str) -> TileError:
    """E3009 for what the driver says of a launch; the setting `one_by_one` makes it wait for
    each."""
    return TileError(
        "E3009",
        f"the driver refused the launch: {error}",
        help=f"An earlier kernel may have failed: run with {one_by_one} to see which.",
    )
