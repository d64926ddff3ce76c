"""Tile operations as element loops, except what a packing function of this target does.

Axes of one element are no loops: a row that is written as a tile of one row is walked together with
one that is written as a vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cpu.lower.scan_rows import scan_rows
from tile_cpu.packing import packed_operands
from tile_ir.expr import Const
from tile_ir.ops import Copy, Parallel, Scan
from tile_ir.rewrite import map_stmts, replace, with_body
from tile_passes.base import Pass, PassContext
from tile_passes.lower.loops import with_value
from tile_passes.lower.lower_tiles import lower_tiles

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.context import LowerContext
    from tile_passes.plan.model import Plan

__all__ = ["PASS"]


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    packed = packed_operands(fn.body, cx.target)

    def keep_packing(s: Stmt, lower: LowerContext) -> Body | None:
        assert isinstance(s, Copy)
        return (s,) if s.dst.buffer in packed else None

    made = lower_tiles(fn, {Copy: keep_packing, Scan: scan_rows})
    return with_body(made, map_stmts(made.body, _without_single))


def _without_single(s: Stmt) -> Stmt | Body | None:
    """A loop without its axes of one element; its body where no other is left."""
    if not isinstance(s, Parallel):
        return None
    axes = list(zip(s.vars, s.extents, strict=True))
    kept = [(v, n) for v, n in axes if not (isinstance(n, Const) and n.value == 1)]
    if len(kept) == len(axes):
        return None
    body = s.body
    for v in [v for v, _ in axes if v not in dict(kept)]:
        body = with_value(body, v, Const(0, v.dtype))
    if not kept:
        return body
    vars_, extents = zip(*kept, strict=True)
    return replace(s, vars=vars_, extents=extents, body=body)


PASS = Pass(name="lower-tiles", phase="lower", rewrite=_run, ensures=("element-wise",), doc=__doc__)
