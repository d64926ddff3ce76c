"""Kernels that may begin before the one in front has ended."""

from __future__ import annotations

from tile_frontend.language.barriers import in_kernel

__all__ = ["pdl_sync", "pdl_trigger"]


def pdl_sync() -> None:
    """Wait until the kernel in front has ended. Kernels are launched one after the other here, so
    it has: nothing is done.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.pdl_sync()`
    """
    in_kernel("T.pdl_sync")


def pdl_trigger() -> None:
    """Let the next kernel begin. It begins when this one has ended, which only costs overlap:
    nothing is done.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.pdl_trigger()`
    """
    in_kernel("T.pdl_trigger")
