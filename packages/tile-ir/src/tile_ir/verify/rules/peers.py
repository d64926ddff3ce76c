"""Rules of what blocks of a cluster do together."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.expr import Const
from tile_ir.opdef import bodies
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Region
    from tile_ir.opdef import Body, Stmt
    from tile_ir.verify.context import Context


def _combine(s: ops.Combine, cx: Context) -> None:
    dst, inbox = cx.buffer(s.dst.buffer), cx.buffer(s.inbox.buffer)
    if not s.rank.dtype.is_int:
        cx.report("E0408", f"the rank of a block is {s.rank.dtype}, not an integer")
    if dst is None or inbox is None:
        return
    if (dst.scope, inbox.scope) != ("fragment", "shared"):
        cx.report("E0439", f"{dst.name} is {dst.scope} and {inbox.name} {inbox.scope} memory")
    elif dst.dtype is not inbox.dtype:
        cx.report("E0439", f"{inbox.name} has another type than {dst.name}", f"{dst.dtype}")
    if s.onto and s.onto not in cx.barriers:
        cx.report("E0402", f"there are no barriers {s.onto} here")


def check_cluster(kernel: ops.Kernel, cx: Context) -> None:
    """Judge what the blocks of a kernel do together: meet in order, tell of copies, add tiles
    up once."""
    blocks = prod(kernel.cluster)
    if blocks < 2:
        return
    _met(kernel.body, False, cx)
    _told(kernel.body, False, cx)
    inboxes: set[str] = set()
    for s in walk(kernel.body):
        if isinstance(s, (ops.For, ops.While)) and any(isinstance(t, ops.Combine) for t in s.body):
            cx.report("E0439", "sums over blocks stand in a loop", span=s.span)
        if isinstance(s, ops.Combine):
            if s.inbox.buffer in inboxes:
                cx.report("E0439", f"{s.inbox.buffer} takes two sums in", span=s.span)
            inboxes.add(s.inbox.buffer)
            _room(s, blocks - 1, cx)


def _room(s: ops.Combine, others: int, cx: Context) -> None:
    has, sent = _elements(s.inbox), _elements(s.dst)
    if has is not None and sent is not None and has < sent * others:
        message = f"{s.inbox.buffer} has {has} elements for {sent} from each of {others} blocks"
        cx.report("E0439", message, span=s.span)


def _elements(region: Region) -> int | None:
    """How many elements a region has, None where that is not known."""
    extents = [int(r.extent.value) for r in region.ranges if isinstance(r.extent, Const)]
    return prod(extents) if len(extents) == len(region.ranges) else None


def _met(body: Body, arrived: bool, cx: Context) -> bool:
    """Whether an arrival at the cluster's barrier is open behind a body, given that before it."""
    for s in body:
        if isinstance(s, ops.Sync) and s.scope == "cluster":
            if arrived != (s.part == "wait"):
                _unpaired(_OPEN if arrived else _MISSING, s, cx)
            arrived = s.part == "arrive"
            continue
        ends = {_met(inner, arrived, cx) for inner in bodies(s)}
        if isinstance(s, _BRANCHES):
            if len(ends) > 1:
                _unpaired("an arrival is open on one way through this branch only", s, cx)
            arrived = min(ends)
        elif ends - {arrived}:
            _unpaired("an arrival is open at one end of this statement only", s, cx)
    return arrived


_BRANCHES = (ops.If, ops.Native)
_MISSING = "there is no arrival that this waits for"
_OPEN = "an arrival comes while another one is open"


def _unpaired(message: str, s: Stmt, cx: Context) -> None:
    cx.report(
        "E0468",
        message,
        "all blocks of a cluster arrive, and wait, before they arrive again",
        fix="let a wait follow each arrival on every way through the kernel",
        span=s.span,
    )


def _told(body: Body, later: bool, cx: Context) -> None:
    """Report copies to other blocks behind which nothing tells these; `later`: what stands behind
    the body does. A meeting at the very end, which keeps the memory, tells nobody."""
    ends = len(body) if later else _end(body)
    for s in reversed(body[:ends]):
        if isinstance(s, ops.CopyPeer) and not s.onto and not later:
            cx.report(
                "E0469",
                f"nothing tells the other block that {s.dst.buffer} has come",
                "without a barrier that counts its bytes a copy is seen after a meeting",
                fix="let the blocks meet behind the copy, before anybody reads it",
                span=s.span,
            )
        for inner in bodies(s):
            again = isinstance(s, (ops.For, ops.While)) and any(map(_tells, walk(inner)))
            _told(inner, later or again, cx)
        later = later or any(map(_tells, walk((s,))))


def _end(body: Body) -> int:
    """How many statements of a body stand before the meetings that end it."""
    ends = (i + 1 for i, s in enumerate(body) if not isinstance(s, ops.Sync))
    return max(ends, default=0)


def _tells(s: Stmt) -> bool:
    """Whether other blocks know behind a statement what was written before it."""
    if isinstance(s, ops.Sync):
        return s.scope == "cluster" and s.part != "wait"
    return (isinstance(s, ops.Barriers) and s.scope == "cluster") or (
        isinstance(s, ops.BarrierArrive) and s.peer is not None
    )


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {ops.Combine: _combine}
