"""Convert fragments where a statement relates two whose layouts do not go together.

A copy between fragments becomes the conversion itself. Any other statement gets its operand in a
temporary of the layout that it wants, converted before it where it reads and back after it where it
writes.

    before:
        func @turn(C: global f32[8, 4]) stage scheduled {
          kernel @turn threads = (32) {
            tiles (bx) in (1) {
              alloc x: fragment f32[8, 4] layout [thread (4:d1*1, 8:d0*1) value (1:d1*1)]
              alloc y: fragment f32[8, 4] layout [thread (8:d0*1, 4:d1*1) value () -> (d0, d1)]
              fill x[:, :], 0.0
              copy x[:, :] -> y[:, :]
              copy y[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @turn(C: global f32[8, 4]) {
          kernel @turn threads = (32) {
            tiles (bx) in (1) {
              alloc x: fragment f32[8, 4] layout [thread (4:d1*1, 8:d0*1) value (1:d1*1)]
              alloc y: fragment f32[8, 4] layout [thread (8:d0*1, 4:d1*1) value () -> (d0, d1)]
              fill x[:, :], 0.0
              convert x[:, :] -> y[:, :] by = shuffle
              copy y[:, :] -> C[:, :]
            }
          }
        }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.layout import ConversionKind, FragmentLayout, convert_kind, same_function
from tile_ir.opdef import Access
from tile_ir.ops import Alloc, Convert, Copy, Gemm, Issue
from tile_ir.rewrite import declared, effects, map_stmts, walk, with_body
from tile_passes.base import Pass
from tile_passes.naming import Names
from tile_passes.plan.relations import directed
from tile_passes.renaming import with_buffer

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


class _Converter:
    def __init__(self, fn: Function, warp_width: int) -> None:
        self.buffers = declared(fn)
        self.names = Names.of(fn)
        self.warp_width = warp_width
        self.temporaries: dict[str, list[Buffer]] = {}

    def stmt(self, stmt: Stmt) -> Body | None:
        if isinstance(stmt, (Issue, Gemm)):
            return None
        clashes = self.clashes(stmt)
        if not clashes:
            return None
        if isinstance(stmt, Copy):
            ((target, wanted),) = clashes
            kind = self.kind(wanted, self.buffers[target])
            return (Convert(src=stmt.src, dst=stmt.dst, by=kind, span=stmt.span),)
        return self.through_temporaries(stmt, clashes)

    def clashes(self, stmt: Stmt) -> list[tuple[str, FragmentLayout]]:
        """The fragments that the statement wants in another layout than they have."""
        out: dict[str, FragmentLayout] = {}
        for edge in directed(stmt, self.buffers):
            source, target = (self.buffers[n].layout for n in (edge.source, edge.target))
            if not (isinstance(source, FragmentLayout) and isinstance(target, FragmentLayout)):
                continue
            try:
                wanted = edge.wanted(source)
            except TileError:  # no digits say it: the lowering of the statement sees to it
                continue
            if wanted != target and not same_function(wanted, target):
                out.setdefault(edge.target, wanted)
        return list(out.items())

    def kind(self, source: FragmentLayout, target: Buffer) -> ConversionKind:
        assert target.layout is not None
        return convert_kind(source, target.layout, warp_width=self.warp_width)

    def through_temporaries(self, stmt: Stmt, clashes: list[tuple[str, FragmentLayout]]) -> Body:
        before: list[Stmt] = []
        after: list[Stmt] = []
        for name, wanted in clashes:
            buffer = self.buffers[name]
            made = dataclasses.replace(buffer, name=self.names.fresh(f"{name}_c"), layout=wanted)
            self.buffers[made.name] = made
            self.temporaries.setdefault(name, []).append(made)
            touched = [e for s in walk((stmt,)) for e in effects(s) if e.buffer == name]
            if any(e.access & (Access.READ | Access.UPDATE) for e in touched):
                kind = convert_kind(buffer.layout or wanted, wanted, warp_width=self.warp_width)
                src, dst = b.whole(buffer), b.whole(made)
                before.append(Convert(src=src, dst=dst, by=kind, span=stmt.span))
            if any(e.access & (Access.WRITE | Access.UPDATE) for e in touched):
                src, dst = b.whole(made), b.whole(buffer)
                kind = self.kind(wanted, buffer)
                after.append(Convert(src=src, dst=dst, by=kind, span=stmt.span))
            stmt = with_buffer(stmt, name, made.name)
        return (*before, stmt, *after)

    def declare(self, stmt: Stmt) -> Body | None:
        if not isinstance(stmt, Alloc) or stmt.buffer.name not in self.temporaries:
            return None
        return (stmt, *(Alloc(buffer=t) for t in self.temporaries[stmt.buffer.name]))


def insert_conversions(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Make every disagreement of layouts a `convert`."""
    converter = _Converter(fn, cx.target.warp_width)
    body = map_stmts(fn.body, converter.stmt)
    if converter.temporaries:
        body = map_stmts(body, converter.declare)
    return with_body(fn, body)


PASS = Pass(
    name="insert-conversions",
    phase="expand",
    rewrite=insert_conversions,
    requires=("scheduled",),
    doc=__doc__,
)
