"""Kernels that may begin before the one in front has ended, by their vendor's words.

Both say what is allowed, not where: the compiler waits before a kernel's first use of global memory
(`T.annotate_dependent_launch` names what need not wait), and lets the next kernel begin once all
blocks have come that far.
"""

from __future__ import annotations

from tile_frontend.language.annotations import annotate_dependent_launch
from tile_frontend.language.barriers import in_kernel
from tile_frontend.trace import state

__all__ = ["pdl_sync", "pdl_trigger"]


def pdl_sync() -> None:
    """This kernel may begin before the kernel in front has ended, and waits for its end before it
    uses global memory: `T.annotate_dependent_launch()`.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.pdl_sync()`
    """
    in_kernel("T.pdl_sync")
    annotate_dependent_launch()


def pdl_trigger() -> None:
    """A dependent kernel behind this one may begin before this one has ended; it waits itself for
    what it needs.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.pdl_trigger()`
    """
    in_kernel("T.pdl_trigger")
    scope = state.builder("T.pdl_trigger").inside("kernel")
    if scope is not None:
        scope.facts["kernel"]["triggers"] = True
