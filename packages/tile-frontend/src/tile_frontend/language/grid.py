"""Barriers of all blocks of a launch."""

from __future__ import annotations

from tile_frontend.trace import state
from tile_ir.diag import TileError
from tile_ir.ops import Sync

__all__ = ["sync_global", "sync_grid"]


def sync_grid() -> None:
    """All blocks of the grid wait for each other; what they wrote to global memory is visible.

    What follows is a kernel of its own, launched behind this one, so that it holds on every target
    and for any number of blocks. It begins with on-chip memory of its own: names and tiles that are
    computed of what the kernel does not write are computed anew there.

    Raises `TileError` E1302 outside a kernel, E1517 in a branch, loop or role, or where something
    on chip would have to outlive it.
    Example: `T.sync_grid()`
    """
    b = state.builder("T.sync_grid")
    b.need_kernel("T.sync_grid")
    if b.scope.kind != "kernel":
        raise TileError(
            "E1517",
            "T.sync_grid stands in a branch, a loop or a role",
            notes=("what follows it is a kernel of its own",),
            help="write the steps one after the other, or launch a kernel in a loop of Python",
        )
    b.emit(Sync(scope="grid", span=b.span))


sync_global = sync_grid
