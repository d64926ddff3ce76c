"""Apply the merging of trips: blocks as many times as deep, and as many times fewer trips.

It stands before operands get their layouts.

    before:  for k in (0, ceildiv(K, 32), 1) {
               copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip ... }
    after:   for k in (0, ceildiv(K, 256), 1) {
               copy A[by * 64 : +64, k * 256 : +256] -> A_s[:, :] clip ... }

A block that is gathered is so once for each of the trips that became one, beside the last:

    before:  for k in (0, 9, 1) {
               parallel (i, j) in (56, 64) { store X_s[i, j] = X[..k..] } ... }
    after:   for k in (0, 1, 1) {
               for k_part in (0, 9, 1) {
                 parallel (i, j) in (56, 64) { store X_s[i, k_part * 64 + j] = X[..k_part..] } }
               ... }
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.lower.operands import CONFLICT_BYTES
from tile_cpu.plan.gathered import Gathered
from tile_cpu.plan.plan_trips import Advance, Block, advances, mergeable, merged
from tile_ir import build as b
from tile_ir.core import Buffer, Range, Region
from tile_ir.expr import Const
from tile_ir.ops import Alloc, Copy, For, Gemm, Kernel, Store
from tile_ir.rewrite import (
    declared,
    map_all_exprs,
    map_stmts,
    replace,
    substitute,
    walk,
    with_body,
)
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import at_zero
from tile_passes.naming import Names

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Stmt
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "merge_trips"]


def _deeper(buffer: Buffer, block: Block, count: int, vector_bytes: int) -> Buffer:
    """A tile for `count` blocks. Kernels read gathered rows where they lie, so rows of a length
    that makes them compete for cache sets get a vector more.
    """
    shape = list(buffer.shape)
    deep = block.step * count
    if isinstance(block, Gathered) and block.target == 1:
        bits = buffer.dtype.storage_bits
        deep += vector_bytes * 8 // bits * (deep * bits // 8 % CONFLICT_BYTES == 0)
    shape[block.target] = b.const(deep)
    return dataclasses.replace(buffer, shape=tuple(shape))


def _blocks(buffer: Buffer, block: Block, count: int) -> Region:
    """The part of a deeper tile that its blocks take: all of it but the vector more."""
    ranges = list(b.whole(buffer).ranges)
    ranges[block.target] = Range(ranges[block.target].start, b.const(block.step * count))
    return Region(buffer.name, tuple(ranges))


def _copy(s: Copy, loop: For, advance: Advance, buffer: Buffer, count: int) -> Copy:
    ranges = list(s.src.ranges)
    deep = advance.step * count
    start = at_zero(ranges[advance.axis].start, loop.var)
    ranges[advance.axis] = Range(b.add(b.mul(loop.var, deep), start), b.const(deep))
    src = Region(s.src.buffer, tuple(ranges), s.src.slot)
    exact = isinstance(loop.stop, Const) and int(loop.stop.value) % count == 0
    return replace(s, src=src, dst=b.whole(buffer), clip=s.clip or not exact)


def _gathers(loop: For, block: Gathered, count: int, part: Var) -> For:
    """The blocks of `count` trips, one after the other."""
    trip: Expr = part if _trips(loop) == count else b.add(b.mul(loop.var, count), part)
    (store,) = block.loop.body
    assert isinstance(store, Store)
    indices = list(store.indices)
    indices[block.target] = b.add(b.mul(part, block.step), indices[block.target])
    (moved,) = map_all_exprs((store,), substitute({loop.var: trip}))
    one = replace(block.loop, body=(replace(moved, indices=tuple(indices)),))
    zero, stop, step = (b.const(n, part.dtype) for n in (0, count, 1))
    return For(var=part, start=zero, stop=stop, step=step, body=(one,), span=block.loop.span)


def _trips(loop: For) -> int | None:
    return int(loop.stop.value) if isinstance(loop.stop, Const) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merging:
    """One loop of which `count` trips become one."""

    loop: For
    count: int
    found: dict[str, Block]
    deeper: dict[str, Buffer]

    def merged(self, buffers: dict[str, Buffer], names: Names) -> For:
        """The loop of fewer trips."""
        body = tuple(self._stmt(s, names) for s in self.loop.body)
        return replace(self.loop, stop=self._stop(buffers), body=body)

    def _stmt(self, s: Stmt, names: Names) -> Stmt:
        loop, count = self.loop, self.count
        if isinstance(s, Gemm):
            return replace(s, a=self._operand(s.a.buffer), b=self._operand(s.b.buffer))
        if isinstance(s, Copy):
            name = s.dst.buffer
            block = self.found[name]
            assert isinstance(block, Advance)
            return _copy(s, loop, block, self.deeper[name], count)
        block = next(x for x in self.found.values() if isinstance(x, Gathered) and x.loop is s)
        part = names.var(f"{loop.var.name}_part", loop.var.dtype)
        return _gathers(loop, block, count, part)

    def _operand(self, name: str) -> Region:
        return _blocks(self.deeper[name], self.found[name], self.count)

    def _stop(self, buffers: dict[str, Buffer]) -> Expr:
        stop = self.loop.stop
        if isinstance(stop, Const):
            return b.cast(b.ceildiv(stop, self.count), stop.dtype)
        source = next(iter(self.found.values()))
        assert isinstance(source, Advance)
        length = buffers[source.copy.src.buffer].shape[source.axis]
        return b.cast(b.ceildiv(length, source.step * self.count), stop.dtype)


def merge_trips(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Apply `KERNEL.LOOP.merge` of the Plan to every loop of products."""
    buffers, names = declared(fn), Names.of(fn)
    deeper: dict[str, Buffer] = {}
    loops: dict[int, For] = {}

    def kernel(s: Kernel) -> None:
        for loop in mergeable(s):
            count = merged(s, loop, plan)
            found = advances(s, loop, buffers) if count > 1 else None
            if found is not None:
                wide = cx.target.vector_unit.bytes
                made = {n: _deeper(buffers[n], x, count, wide) for n, x in found.items()}
                merging = _Merging(loop=loop, count=count, found=found, deeper=made)
                loops[id(loop)] = merging.merged(buffers, names)
                deeper.update(made)

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
