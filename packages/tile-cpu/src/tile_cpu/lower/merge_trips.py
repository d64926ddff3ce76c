"""Apply the merging of trips: blocks as many times as deep, and as many times fewer trips.

It stands before operands get their layouts.

    before:  for k in (0, ceildiv(K, 32), 1) {
               copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip ... }
    after:   for k in (0, ceildiv(K, 256), 1) {
               copy A[by * 64 : +64, k * 256 : +256] -> A_s[:, :] clip ... }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_cpu.plan.plan_trips import Advance, advances, mergeable, merged
from tile_ir import build as b
from tile_ir.core import Buffer, Range, Region
from tile_ir.expr import Const
from tile_ir.ops import Alloc, Copy, For, Gemm, Kernel
from tile_ir.rewrite import declared, map_stmts, replace, walk, with_body
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import at_zero

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "merge_trips"]


def _deeper(buffer: Buffer, advance: Advance, count: int) -> Buffer:
    shape = list(buffer.shape)
    shape[advance.target] = b.const(advance.step * count)
    return dataclasses.replace(buffer, shape=tuple(shape))


def _copy(s: Copy, loop: For, advance: Advance, buffer: Buffer, count: int) -> Copy:
    ranges = list(s.src.ranges)
    deep = advance.step * count
    start = at_zero(ranges[advance.axis].start, loop.var)
    ranges[advance.axis] = Range(b.add(b.mul(loop.var, deep), start), b.const(deep))
    src = Region(s.src.buffer, tuple(ranges), s.src.slot)
    exact = isinstance(loop.stop, Const) and int(loop.stop.value) % count == 0
    return replace(s, src=src, dst=b.whole(buffer), clip=s.clip or not exact)


def _merged_loop(
    loop: For, found: dict[str, Advance], buffers: dict[str, Buffer], count: int
) -> For:
    deeper = {name: _deeper(buffers[name], a, count) for name, a in found.items()}
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Copy):
            name = s.dst.buffer
            body.append(_copy(s, loop, found[name], deeper[name], count))
        elif isinstance(s, Gemm):
            wider = {"a": b.whole(deeper[s.a.buffer]), "b": b.whole(deeper[s.b.buffer])}
            body.append(replace(s, **wider))
    step = next(iter(found.values())).step
    source = next(iter(found.values()))
    if isinstance(loop.stop, Const):
        stop = b.ceildiv(loop.stop, count)
    else:
        stop = b.ceildiv(buffers[source.copy.src.buffer].shape[source.axis], step * count)
    return replace(loop, stop=b.cast(stop, loop.stop.dtype), body=tuple(body))


def merge_trips(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Apply `KERNEL.LOOP.merge` of the Plan to every loop of products."""
    buffers = declared(fn)
    deeper: dict[str, Buffer] = {}
    loops: dict[int, For] = {}

    def kernel(s: Kernel) -> None:
        for loop in mergeable(s):
            count = merged(s, loop, plan)
            found = advances(s, loop, buffers) if count > 1 else None
            if found is not None:
                loops[id(loop)] = _merged_loop(loop, found, buffers, count)
                deeper.update({n: _deeper(buffers[n], a, count) for n, a in found.items()})

    def visit(s: Stmt) -> Stmt | None:
        if isinstance(s, For):
            return loops.get(id(s))
        if isinstance(s, Alloc) and s.buffer.name in deeper:
            return replace(s, buffer=deeper[s.buffer.name])
        return None

    for s in walk(fn.body):
        if isinstance(s, Kernel):
            kernel(s)
    return with_body(fn, map_stmts(fn.body, visit)) if loops else fn


PASS = Pass(name="merge-trips", phase="expand", rewrite=merge_trips, doc=__doc__)
