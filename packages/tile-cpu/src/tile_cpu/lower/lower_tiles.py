"""Tile operations as element loops, except what a packing function of this target does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_cpu.packing import packed_operands
from tile_ir.ops import Copy
from tile_passes.base import Pass, PassContext
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

    return lower_tiles(fn, {Copy: keep_packing})


PASS = Pass(name="lower-tiles", phase="lower", rewrite=_run, ensures=("element-wise",), doc=__doc__)
