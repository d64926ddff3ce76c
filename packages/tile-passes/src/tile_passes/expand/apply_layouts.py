"""Write the planned layouts into declarations and parallel loops.

The program is still what the user wrote here, so the Plan's names of loops and statements hold.

    pipeline: plan-roles, plan-pipeline, plan-layout, apply-layouts
    before:
        func @copy(A: global f32[8, 32], B: global f32[8, 32]) {
          kernel @copy {
            tiles (bx) in (1) {
              alloc x: fragment f32[8, 32]
              copy A[:, :] -> x[:, :]
              copy x[:, :] -> B[:, :]
            }
          }
        }
    after:
        func @copy(A: global f32[8, 32], B: global f32[8, 32]) {
          kernel @copy {
            tiles (bx) in (1) {
              alloc x: fragment f32[8, 32] layout [thread (8:d1*4, 8:d0*1, 2:-) value (4:d1*1)]
              copy A[:, :] -> x[:, :]
              copy x[:, :] -> B[:, :]
            }
          }
        }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir.layout import parse_layout
from tile_ir.opdef import bodies, opdef
from tile_ir.ops import Alloc, Kernel, Parallel, Tiles
from tile_ir.rewrite import map_stmts, replace, with_body
from tile_passes.base import Pass
from tile_passes.plan.keys import Names

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.layout import Layout
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan


class _Apply:
    def __init__(self, kernel: str, names: Names, plan: Plan) -> None:
        self.kernel, self.names, self.plan = kernel, names, plan

    def layout(self, what: str) -> Layout | None:
        found = self.plan.find(f"{self.kernel}.{what}.layout")
        return None if found is None else parse_layout(str(found.value))

    def body(self, body: Body, at: Path) -> Body:
        out = tuple(self.stmt(s, (*at, i)) for i, s in enumerate(body))
        return body if all(a is b for a, b in zip(out, body, strict=True)) else out

    def stmt(self, stmt: Stmt, path: Path) -> Stmt:
        if isinstance(stmt, Alloc):
            layout = self.layout(stmt.buffer.name)
            if layout is None or layout == stmt.buffer.layout:
                return stmt
            return replace(stmt, buffer=dataclasses.replace(stmt.buffer, layout=layout))
        if isinstance(stmt, Parallel):
            layout = self.layout(self.names[path])
            return stmt if layout is None else replace(stmt, layout=layout)
        fields = [f.name for f in opdef(stmt).of_kind("region")]
        inner = zip(fields, bodies(stmt), strict=True)
        return replace(stmt, **{n: self.body(b, (*path, k)) for k, (n, b) in enumerate(inner)})


def apply_layouts(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Set `layout` of buffers and parallel loops; before statements move, while the plan's names
    hold.
    """

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        body = tuple(
            replace(s, body=_Apply(stmt.name, Names.of(s.body), plan).body(s.body, ()))
            if isinstance(s, Tiles)
            else s
            for s in stmt.body
        )
        return replace(stmt, body=body)

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="apply-layouts",
    phase="expand",
    rewrite=apply_layouts,
    requires=("layouts planned",),
    doc=__doc__,
)
