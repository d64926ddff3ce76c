"""Results of products that are only copied to memory afterwards: the kernel writes them there.

A tile of a result is cleared, filled by the product and copied out: each of its lines is written
twice and read once. Where the product is done in one go and nothing happens between it and the
copy, the matrix kernel gets the place in memory, which it writes at the same time as it would the
tile. What was read was packed before, so it does not matter whether the result lies over it.

    before:  for k in (0, 1, 1) { ...  gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init }
             copy C_l[:, :] -> C[by * 64 : +64, bx * 64 : +64] clip
    after:   for k in (0, 1, 1) { ...
               atom dot A_s[0 : +A_s_rows, :], B_s -> C[by * 64 : +A_s_rows, bx * 64 : +64] init }
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Const, Expr, Var
from tile_ir.opdef import Body, bodies
from tile_ir.ops import Alloc, Copy, For, Gemm
from tile_passes.lower.context import ZERO, is_unit, window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_cpu.lower.operands import Use
    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt
    from tile_passes.analysis.facts import Facts

__all__ = ["Result", "final_results"]

ALWAYS = b.const(True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A product's result that `copy` brings to memory as it is."""

    copy: Copy

    def region(
        self,
        sizes: tuple[Expr, Expr],
        named: Mapping[Var, Expr],
        buffers: Mapping[str, Buffer],
        facts: Facts,
    ) -> Region | None:
        """The place of `sizes` rows and columns in memory, with what their names stand for; None
        where the copy does not write just these."""
        *lead, rows, cols = self.copy.dst.ranges
        shape = buffers[self.copy.dst.buffer].shape
        extents = (*(r.extent for r in lead), *sizes)
        for r, extent, size in zip(self.copy.dst.ranges, shape, extents, strict=True):
            high = r.extent
            if self.copy.clip:
                inside = window(r, extent, facts)
                high = inside.high
                if inside.low is not ZERO:
                    return None
            if (named.get(size, size) if isinstance(size, Var) else size) != high:
                return None
        part = (Range(rows.start, sizes[0]), Range(cols.start, sizes[1]))
        return Region(self.copy.dst.buffer, (*lead, *part), self.copy.dst.slot)


def final_results(
    body: Body,
    gemms: Mapping[Gemm, object],
    uses: Mapping[str, list[Use]],
    buffers: Mapping[str, Buffer],
) -> dict[str, Result]:
    """Name of a tile -> the result that need not be in it, of the products `gemms` in a body."""
    found: dict[str, Result] = {}
    for inside in _all_bodies(body):
        for s, copy in pairwise(x for x in inside if not isinstance(x, Alloc)):
            gemm = _product_at_end(s)
            if gemm is None or gemm not in gemms or not isinstance(copy, Copy):
                continue
            alone = sorted(u.role for u in uses[gemm.c.buffer]) == ["c", "from"]
            if alone and _moves_as_is(copy, gemm, buffers):
                found[gemm.c.buffer] = Result(copy=copy)
    return found


def _all_bodies(body: Body) -> Iterator[Body]:
    yield body
    for s in body:
        for inner in bodies(s):
            yield from _all_bodies(inner)


def _product_at_end(s: Stmt) -> Gemm | None:
    """The product with which a statement ends, where it is done once and clears its result."""
    if isinstance(s, Gemm):
        return s if s.init == ALWAYS else None
    if not (isinstance(s, For) and s.body and isinstance(s.body[-1], Gemm)):
        return None
    once = b.land(b.lt(s.start, s.stop), b.le(s.stop, b.add(s.start, s.step)))
    if once != ALWAYS:
        return None
    gemm = s.body[-1]
    return gemm if gemm.init in (ALWAYS, b.eq(s.var, s.start)) else None


def _moves_as_is(copy: Copy, gemm: Gemm, buffers: Mapping[str, Buffer]) -> bool:
    """Whether a copy brings the whole result, and nothing but it, to rows of memory."""
    tile, to = buffers[gemm.c.buffer], buffers[copy.dst.buffer]
    if not copy.src == gemm.c == b.whole(tile) or tile.rank != 2 or to.rank < 2:
        return False
    last = Const(1, to.strides[-1].dtype) if to.strides else None
    dense = to.strides is None or to.strides[-1] == last
    shared = all(buffers[r.buffer].scope != "global" for r in (gemm.a, gemm.b, gemm.c))
    lead = all(is_unit(r) for r in copy.dst.ranges[:-2])
    return dense and shared and lead and to.scope == "global" and to.dtype is tile.dtype
