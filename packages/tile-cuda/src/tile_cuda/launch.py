"""Prepared launches of one kernel on one device.

A launch packs the arguments into a block of memory that the thread keeps, and makes one call of the
driver, which copies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tile_cuda import device as devices
from tile_cuda.captures import TENSOR_MAP
from tile_cuda.dependent_launch import launch_dependent
from tile_cuda.tensor_maps import MAP_BYTES
from tile_passes.launch import arguments
from tile_passes.launch.arguments import Layout, ThreadArguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.diag import TileError

__all__ = ["Entry", "launch_refused", "layout_of", "prepare_launch", "thread_arguments", "too_many"]

MAX_BLOCKS = (1 << 31) - 1
"""Largest first dimension of a grid (CUDA C++ Programming Guide, technical specifications)."""
WIDE_FORMATS = {TENSOR_MAP: f"{MAP_BYTES}s"}
"""Letters of parameters -> their format in `struct` where that is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A loaded kernel: the driver's handle, its name, the letters of its parameters, threads of a
    block, bytes of dynamic shared memory; whether it may begin before the kernel in front ends."""

    function: int
    name: str
    formats: str
    threads: int
    shared: int
    dependent: bool = False


def layout_of(formats: str, fixed: Mapping[int, Any] = MappingProxyType({})) -> Layout:
    """Where the arguments of a kernel with these letters lie; `fixed` are the values of those that
    are the same in all launches, by position."""
    return Layout([WIDE_FORMATS.get(letter, letter) for letter in formats], fixed)


def thread_arguments(layout: Layout) -> ThreadArguments:
    """Memory for arguments in each thread, which gets the device's context first."""
    return ThreadArguments(layout, devices.ensure_context)


def prepare_launch(entry: Entry, device: int) -> Callable[..., None]:
    """A function of (blocks, *arguments) that launches on the device's current stream.

    It raises TileError E3009 where the driver refuses, E3011 for too many blocks.
    """
    driver, layout = devices.driver(), layout_of(entry.formats)
    launch_kernel, pack_into = driver.launchKernel, layout.packer.pack_into
    function, threads, shared = entry.function, entry.threads, entry.shared
    packed, stream = thread_arguments(layout), devices.current_stream

    def launch(blocks: int, *values: Any) -> None:
        if blocks > MAX_BLOCKS:
            raise too_many(blocks)
        memory, pointers = packed.block
        pack_into(memory, 0, *values)
        try:
            if entry.dependent:
                launch_dependent(function, blocks, threads, shared, stream(device), pointers)
                return
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
    return arguments.too_many_blocks(blocks, f"a grid has at most {MAX_BLOCKS}")


def launch_refused(error: Exception) -> TileError:
    """E3009 for what the driver says of a launch."""
    return arguments.launch_refused(error, "CUDA_LAUNCH_BLOCKING=1")
