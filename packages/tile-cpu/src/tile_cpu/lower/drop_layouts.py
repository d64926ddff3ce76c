"""Tiles as plain row-major arrays.

A pinned layout says which thread holds an element in which register, or spreads rows over the banks
of a shared memory. A block here is one thread and a cache has no such banks, so the pins are
dropped; what a matrix kernel wants is laid out later.

    before:  alloc C: fragment f32[64, 2] layout [thread (64:d0*1) value (2:d1*1)]
    after:   alloc C: fragment f32[64, 2]
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir.ops import Alloc, Parallel
from tile_ir.rewrite import map_stmts, replace, with_body
from tile_passes.base import Pass, PassContext

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "drop_layouts"]


def _plain(s: Stmt) -> Stmt | None:
    if isinstance(s, Alloc) and s.buffer.layout is not None:
        return replace(s, buffer=dataclasses.replace(s.buffer, layout=None))
    if isinstance(s, Parallel) and s.layout is not None:
        return replace(s, layout=None)
    return None


def drop_layouts(fn: Function) -> Function:
    """Return the function without layouts of tiles and loops."""
    return with_body(fn, map_stmts(fn.body, _plain))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return drop_layouts(fn)


PASS = Pass(name="drop-layouts", phase="expand", rewrite=_run, doc=__doc__)
