"""Matrix instructions in flight: the fences and groups around them, as other compilers ask for."""

from __future__ import annotations

from typing import Any

from tile_frontend.language.barriers import in_kernel
from tile_frontend.language.tile_ops import wait_wgmma

__all__ = [
    "warpgroup_arrive",
    "warpgroup_commit_batch",
    "warpgroup_fence_operand",
    "warpgroup_wait",
]


def warpgroup_arrive() -> None:
    """Accepted and without effect: `T.wgmma_gemm` orders registers before it begins.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.warpgroup_arrive()`
    """
    in_kernel("T.warpgroup_arrive")


def warpgroup_commit_batch() -> None:
    """Accepted and without effect: each `T.wgmma_gemm` is a group of its own.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.warpgroup_commit_batch()`
    """
    in_kernel("T.warpgroup_commit_batch")


def warpgroup_fence_operand(
    buf: Any, offset: Any = 0, num_regs: Any = None, dtype: Any = None
) -> None:
    """Accepted and without effect: the compiler keeps accumulators in registers while products are
    in flight.

    Raises `TileError` E1302 outside a kernel.
    Example: `T.warpgroup_fence_operand(F)`
    """
    in_kernel("T.warpgroup_fence_operand")


def warpgroup_wait(n: int) -> None:
    """`T.wait_wgmma(n)`.

    Raises `TileError` as `T.wait_wgmma` does.
    Example: `T.warpgroup_wait(0)`
    """
    wait_wgmma(n)
