"""Groups of warps that issue matrix instructions together: which one a thread is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_passes.lower.threads.addresses import digit

if TYPE_CHECKING:
    from tile_ir.expr import Expr
    from tile_ir.target import TargetSpec

__all__ = ["group_number", "group_threads"]


def group_threads(target: TargetSpec) -> int:
    """The threads of a group."""
    return target.group_warps * target.warp_width


def group_number(thread: Expr, threads: int, target: TargetSpec) -> Expr:
    """The number of a thread's group of so many, in a form of which the target's compiler sees that
    all lanes of a warp have the same, where an exchange between lanes can say so."""
    number = digit(thread, threads, None)
    return b.call("shuffle_idx", (number, 0)) if target.has("shuffle") else number
