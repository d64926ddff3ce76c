"""Values that were read before memory changed: refused where used, never silently read anew.

A name is bound to what was read (a `let` in the program). A value that only Python holds (in a list
that was appended to, or returned by a function) is still an expression over loads, good until the
buffer is written. A clock counts writes; a value older than the last write of a buffer that it
loads is stale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_frontend.trace import state
from tile_ir.diag import TileError
from tile_ir.expr import Load, walk
from tile_ir.ops import (
    Atomic,
    AtomicTile,
    Copy,
    CopyPeer,
    Fill,
    Gemm,
    Reduce,
    Scan,
    Store,
    Transpose,
)

if TYPE_CHECKING:
    from tile_frontend.trace.builder import Builder
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt


def written_by(stmt: Stmt) -> str | None:
    """The buffer that a statement (not its body) writes."""
    if isinstance(stmt, (Store, Atomic)):
        return stmt.buffer
    if isinstance(stmt, (Copy, CopyPeer, Fill, Reduce, Scan, Transpose, AtomicTile)):
        return stmt.dst.buffer
    return stmt.c.buffer if isinstance(stmt, Gemm) else None


def note_write(b: Builder, stmt: Stmt) -> None:
    """Advance the clock when `stmt` writes.

    Raises `TileError` E1214 when an open loop has used a value that this write makes stale for its
    next trip.
    """
    name = written_by(stmt)
    if name is not None:
        note_changed(b, name)


def note_changed(b: Builder, name: str) -> None:
    """The same for a buffer that a statement may write. Raises `TileError` E1214 likewise."""
    root = b.roots.get(name, name)
    for scope in b.scopes:
        if root in scope.old_reads:
            raise _stale(root, "its next trip would still use the first value")
    b.written[root] = state.tick()


def check(expr: Expr, born: int) -> None:
    """Refuse a value made at time `born` if a buffer that it loads has been written since.

    Raises `TileError` E1214.
    """
    b = state.active()
    if b is None:
        return
    for node in walk(expr):
        if isinstance(node, Load):
            root = b.roots.get(node.buffer, node.buffer)
            if b.written.get(root, -1) > born:
                raise _stale(root, f"{root} has been written since")
            for scope in b.scopes:
                if scope.loops and scope.born > born:
                    scope.old_reads.add(root)


def _stale(buffer: str, why: str) -> TileError:
    return TileError(
        "E1214",
        f"a value read from {buffer} is used after {buffer} may have changed",
        notes=(f"the value was kept by Python, not bound to a name of the kernel; {why}",),
        help="bind it to a name in a statement of its own where it is read: `v = A[i]`",
    )
