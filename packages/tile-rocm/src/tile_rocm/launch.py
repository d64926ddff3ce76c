"""Prepared launches of one kernel on one device.

A launch packs the arguments into a block of memory that the thread keeps, and makes one call of the
driver, which copies them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_passes.launch.arguments import (
    Layout,
    ThreadArguments,
    launch_refused,
    too_many_blocks,
)
from tile_rocm import device as devices

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["prepare_launch"]

MAX_THREADS = (1 << 32) - 1
"""Threads of one dimension of a launch, which the packet that starts it holds in 32 bits."""


def prepare_launch(function: Any, formats: str, threads: int, device: int) -> Callable[..., None]:
    """A function of (blocks, *arguments) that launches on the device's current stream.

    `function` is the driver's handle, `formats` are the letters of the kernel's parameters. It
    raises TileError E3009 where the driver refuses, E3011 for too many blocks.
    """
    hip, layout = devices.binding(), Layout(formats)
    launch_kernel, pack_into = hip.launch, layout.packer.pack_into
    arguments, stream = ThreadArguments(layout), devices.current_stream
    most = MAX_THREADS // threads

    def launch(blocks: int, *values: Any) -> None:
        if blocks > most:
            raise too_many_blocks(blocks, f"with so many threads each, there are at most {most}")
        memory, pointers = arguments.block
        pack_into(memory, 0, *values)
        try:
            launch_kernel(function, blocks, threads, stream(device), pointers)
        except hip.errors as error:
            raise launch_refused(error, "AMD_SERIALIZE_KERNEL=3") from error

    return launch
