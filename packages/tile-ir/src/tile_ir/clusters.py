"""Whether the blocks of a cluster have to do with each other, before a kernel is one thread's.

Blocks that do not may run one after the other, on a device that has no clusters too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import BarrierArrive, Barriers, Combine, CopyPeer, Issue, Sync
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt

__all__ = ["meets_peers", "of_peers", "writes_peers"]


def of_peers(s: Stmt) -> bool:
    """Whether a statement waits for other blocks of the cluster, or touches what is theirs."""
    return (
        isinstance(s, (Combine, CopyPeer))
        or (isinstance(s, (Barriers, Sync)) and s.scope == "cluster")
        or (isinstance(s, BarrierArrive) and s.peer is not None)
        or (isinstance(s, Issue) and s.mask > 0)
    )


def writes_peers(body: Body) -> bool:
    """Whether blocks write to each other's shared memory, at times of their own."""
    return any(isinstance(s, CopyPeer) or (isinstance(s, Issue) and s.mask > 0) for s in walk(body))


def meets_peers(body: Body) -> bool:
    """Whether any statement of a body does."""
    return any(map(of_peers, walk(body)))
