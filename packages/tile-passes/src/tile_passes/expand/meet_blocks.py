"""Give the sums of a cluster barriers that count what comes from other blocks.

They come last: until then no pass has to know of barriers that belong to no channel.

    pipeline: meet-blocks
    before:
        func @f(A: global f32[2, 64], C: global f32[64]) {
          kernel @f threads = (32), cluster = (2) {
            tiles (part) in (2) {
              alloc C_inbox: shared f32[64]
              alloc C_l: fragment f32[64]
              copy A[part, :] -> C_l[:]
              combine C_l[:] by C_inbox[:] at part
              if part == 0 {
                copy C_l[:] -> C[:]
              }
            }
          }
        }
    after:
        func @f(A: global f32[2, 64], C: global f32[64]) {
          kernel @f threads = (32), cluster = (2) {
            tiles (part) in (2) {
              barriers C_inbox_full: [1] arrivals 1 scope = cluster
              alloc C_inbox: shared f32[64]
              alloc C_l: fragment f32[64]
              copy A[part, :] -> C_l[:]
              combine C_l[:] by C_inbox[:] at part onto = C_inbox_full
              if part == 0 {
                copy C_l[:] -> C[:]
              }
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import Barriers, Combine, Tiles
from tile_ir.rewrite import map_stmts, replace, walk, with_body
from tile_passes.base import Pass
from tile_passes.naming import Names

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


def meet_blocks(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Declare the barriers of `combine` statements, and name them there."""
    if not any(isinstance(s, Combine) and not s.onto for s in walk(fn.body)):
        return fn
    names = Names.of(fn)

    def visit(s: Stmt) -> Stmt | None:
        if not isinstance(s, Tiles):
            return None
        made: dict[str, Barriers] = {}

        def named(inner: Stmt) -> Stmt | None:
            if not isinstance(inner, Combine) or inner.onto:
                return None
            name = names.fresh(f"{inner.inbox.buffer}_full")
            made[name] = Barriers(name=name, count=1, arrivals=1, scope="cluster", span=inner.span)
            return replace(inner, onto=name)

        body = map_stmts(s.body, named)
        return replace(s, body=(*made.values(), *body)) if made else None

    return with_body(fn, map_stmts(fn.body, visit))


PASS = Pass(name="meet-blocks", phase="expand", rewrite=meet_blocks, doc=__doc__)
