"""Write the planned byte offsets into the declarations of shared buffers.

It comes late: until then no pass has to ask which buffers share bytes. `insert-syncs`, which must,
comes after it.

    pipeline: plan-roles, plan-pipeline, plan-memory, allocate-shared
    before:
        func @twice(A: global f32[64], B: global f32[64]) {
          kernel @twice {
            tiles (bx) in (1) {
              alloc s: shared f32[64]
              alloc t: shared f32[32]
              copy A[:] -> s[:]
              fill t[:], 0.0
              copy s[:] -> B[:]
              copy t[:] -> B[0 : +32]
            }
          }
        }
    after:
        func @twice(A: global f32[64], B: global f32[64]) {
          kernel @twice {
            tiles (bx) in (1) {
              alloc s: shared f32[64] offset 0
              alloc t: shared f32[32] offset 1024
              copy A[:] -> s[:]
              fill t[:], 0.0
              copy s[:] -> B[:]
              copy t[:] -> B[0 : +32]
            }
          }
        }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir.ops import Alloc, Kernel
from tile_ir.rewrite import map_bodies, map_stmts, replace, with_body
from tile_passes.base import Pass

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


def allocate_shared(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Set `offset` of shared buffers."""

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None

        def alloc(s: Stmt) -> Stmt | None:
            if not isinstance(s, Alloc) or s.buffer.scope != "shared":
                return None
            found = plan.find(f"{stmt.name}.{s.buffer.name}.offset")
            if found is None or found.value == s.buffer.offset:
                return None
            offset = int(found.value)  # type: ignore[arg-type]  # offsets are numbers
            return replace(s, buffer=dataclasses.replace(s.buffer, offset=offset))

        return map_bodies(stmt, lambda body: map_stmts(body, alloc))

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="allocate-shared",
    phase="expand",
    rewrite=allocate_shared,
    requires=("memory planned",),
    doc=__doc__,
)
