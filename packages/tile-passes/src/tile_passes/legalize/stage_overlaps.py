"""Move within one buffer through registers where what is read and what is written may meet.

Operations on tiles read everything before they write anything. Threads, and the loops of a CPU,
do not: a tile that is shifted or transposed in place would be read where it is written already.

    before:
        func @f(A: global f32[8, 8], B: global f32[8, 8]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc s: shared f32[8, 8]
              copy A[:, :] -> s[:, :]
              transpose s[:, :] -> s[:, :]
              copy s[0 : +4, :] -> s[4 : +4, :]
              copy s[0 : +7, :] -> s[1 : +7, :]
              copy s[:, :] -> B[:, :]
            }
          }
        }
    after:
        func @f(A: global f32[8, 8], B: global f32[8, 8]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc s: shared f32[8, 8]
              copy A[:, :] -> s[:, :]
              alloc s_read: fragment f32[8, 8]
              copy s[:, :] -> s_read[:, :]
              transpose s_read[:, :] -> s[:, :]
              copy s[0 : +4, :] -> s[4 : +4, :]
              alloc s_read_1: fragment f32[7, 8]
              copy s[0 : +7, :] -> s_read_1[:, :]
              copy s_read_1[:, :] -> s[1 : +7, :]
              copy s[:, :] -> B[:, :]
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.ops import Alloc, Copy, Reduce, Scan, Transpose
from tile_ir.rewrite import declared, map_stmts, replace, with_body
from tile_passes.analysis.dependence import aliases, apart
from tile_passes.base import Pass
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

_MOVES = (Copy, Transpose, Scan, Reduce)
_IN_PLACE = (Copy, Scan)
"""What touches every element at the position where it is, if source and target are the same."""


def _meet(stmt: Stmt, homes: Mapping[str, str]) -> bool:
    """Whether a move may read what it writes, at another position."""
    if not isinstance(stmt, _MOVES):
        return False
    src, dst = stmt.src, stmt.dst
    if homes.get(src.buffer, src.buffer) != homes.get(dst.buffer, dst.buffer):
        return False
    if src.buffer != dst.buffer:  # views of one memory, whose coordinates do not compare
        return True
    return not apart(src, dst) and not (src == dst and isinstance(stmt, _IN_PLACE))


def _staged(stmt: Copy | Transpose | Scan | Reduce, source: Buffer, names: Names) -> Body:
    held = Buffer(
        name=names.fresh(f"{source.name}_read"),
        dtype=source.dtype,
        shape=tuple(r.extent for r in stmt.src.ranges),
        scope="fragment",
        span=stmt.span,
    )
    clip = source.scope == "global" and getattr(stmt, "clip", True)
    read = Copy(src=stmt.src, dst=b.whole(held), clip=clip, span=stmt.span)
    return Alloc(buffer=held), read, replace(stmt, src=b.whole(held))


def stage_overlaps(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Read the sources of moves within one buffer before anything of them is written."""
    homes = aliases(fn.body)
    buffers = declared(fn)
    names = Names.of(fn)

    def visit(stmt: Stmt) -> Body | None:
        if not _meet(stmt, homes):
            return None
        assert isinstance(stmt, _MOVES)
        return _staged(stmt, buffers[stmt.src.buffer], names)

    return with_body(fn, map_stmts(fn.body, visit))


PASS = Pass(name="stage-overlaps", phase="legalize", rewrite=stage_overlaps, doc=__doc__)
