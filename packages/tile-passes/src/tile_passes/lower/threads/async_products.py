"""Products by asynchronous matrix instructions: operands stay in shared memory, a group of warps
issues together, and the accumulator is in registers until the group settles.

Which instruction, and which of its rows and columns a group of warps has, is read off the layout
that the accumulator was given. Where none matches the product is done at once by other means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Const, Expr
from tile_ir.ops import Atom, Fence, For, Let
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO, digit
from tile_passes.lower.threads.context import declared
from tile_passes.lower.threads.groups import group_number, group_threads
from tile_passes.lower.threads.moves import move
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.products import lower_gemm
from tile_passes.lower.threads.spread import ONE, over_box, relabel
from tile_passes.plan.atoms import Tiling, tiling

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Gemm
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_issued_product"]


def lower_issued_product(s: Gemm, cx: ThreadContext) -> Items:
    """Start a product, or do it where no asynchronous instruction matches its operands."""
    plan = _tiling(s, cx)
    if plan is None:
        return lower_gemm(s, cx)
    before, a = _operand_a(s, plan, cx)
    return (*before, Piece(_Product(s, plan, a, cx).body()))


def _tiling(s: Gemm, cx: ThreadContext) -> Tiling | None:
    a, c, x = (cx.buffers[r.buffer] for r in (s.a, s.b, s.c))
    shape = _shape(s)
    if shape is None or c.scope != "shared" or x.scope != "fragment" or x.rank != 2:
        return None
    held = over_box(cx.layout(x), cx.threads)
    for atom in cx.target.atoms(a.dtype.name, c.dtype.name, x.dtype.name):
        if atom.engine != "async" or atom.sparse:
            continue
        found = tiling(atom, shape, cx.threads, s.policy)
        if found is not None and over_box(found.accumulator(), cx.threads) == held:
            return found
    return None


def _shape(s: Gemm) -> tuple[int, int, int] | None:
    m, n = (r.extent for r in s.c.ranges[-2:])
    k = s.a.ranges[-2 if s.transpose_a else -1].extent
    if not (isinstance(m, Const) and isinstance(n, Const) and isinstance(k, Const)):
        return None
    return int(m.value), int(n.value), int(k.value)


def _operand_a(s: Gemm, plan: Tiling, cx: ThreadContext) -> tuple[Items, Region]:
    """What goes before, and a where the instruction takes it: shared memory, or registers that lie
    as it wants them."""
    buffer = cx.buffers[s.a.buffer]
    if buffer.scope == "shared" and "shared" in plan.atom.a.homes:
        return (), s.a
    names = {"m": "d1", "k": "d0"} if s.transpose_a else {"m": "d0", "k": "d1"}
    wanted = _of_threads(relabel(plan.a(), names, ("d0", "d1")), cx)
    if buffer.scope == "fragment" and over_box(cx.layout(buffer), cx.threads) == wanted:
        return (), s.a
    shape = (plan.k, plan.m) if s.transpose_a else (plan.m, plan.k)
    held, alloc = cx.fragment("a_r", buffer.dtype, shape, wanted)
    return (declared(alloc), *move(s.a, b.whole(held), cx, span=s.span)), b.whole(held)


def _of_threads(layout: FragmentLayout, cx: ThreadContext) -> FragmentLayout:
    found = over_box(layout, cx.threads)
    assert found is not None  # the tiling was made for these threads
    return found


@dataclass(frozen=True, slots=True)
class _Product:
    """The instructions of one product."""

    s: Gemm
    plan: Tiling
    a: Region
    cx: ThreadContext

    def body(self) -> Body:
        """A fence for the registers, then for each step along k every instruction of the group."""
        plan, s = self.plan, self.s
        lets, row, column = self._group()
        rows = plan.m // (plan.atom.m * plan.along_m)
        columns = plan.n // (plan.atom.n * plan.along_n)
        k, i, j = (self.cx.names.var(n) for n in ("kk", "i", "j"))
        counts = ((k, plan.k // plan.atom.k), (j, columns), (i, rows))
        at: dict[Expr, Expr] = {v: ZERO if n == 1 else v for v, n in counts}
        body: Body = (self._atom(at[k], at[i], at[j], row, column, rows),)
        for var, count in reversed(counts):
            if count > 1:
                stop = b.const(count, i32)
                body = (
                    For(
                        var=var,
                        start=ZERO,
                        stop=stop,
                        step=ONE,
                        kind="unroll",
                        body=body,
                        span=s.span,
                    ),
                )
        return (*lets, Fence(before="registers", after="mma", span=s.span), *body)

    def _group(self) -> tuple[list[Stmt], Expr, Expr]:
        """The first row and column of the group of warps that a thread is in."""
        plan, cx = self.plan, self.cx
        if plan.along_m * plan.along_n == 1:
            return [], ZERO, ZERO
        lets: list[Stmt] = []
        group = cx.group
        if group is None or plan.atom.threads != group_threads(cx.target):
            group = cx.names.var("group")
            number = group_number(cx.thread, plan.atom.threads, cx.target)
            lets = [Let(var=group, value=number, span=self.s.span)]
        down = digit(group, 1, plan.along_m if plan.along_n > 1 else None)
        across = digit(group, plan.along_m, None)
        row = b.mul(down, plan.atom.m) if plan.along_m > 1 else ZERO
        column = b.mul(across, plan.n // plan.along_n) if plan.along_n > 1 else ZERO
        return lets, row, column

    def _atom(self, k: Expr, i: Expr, j: Expr, row: Expr, column: Expr, rows: int) -> Atom:
        s, plan, atom = self.s, self.plan, self.plan.atom
        row = b.add(row, b.mul(i, atom.m * plan.along_m))
        column = b.add(column, b.mul(j, atom.n))
        depth = b.mul(k, atom.k)
        m, n, step = (b.const(x, i32) for x in (atom.m, atom.n, atom.k))
        values = atom.m * atom.n // atom.threads
        c_at = b.mul(b.add(i, b.mul(j, rows)), values)
        init = None if s.init is None else b.land(s.init, b.eq(k, 0))
        return Atom(
            name=atom.name,
            a=self._a(row, depth, m, step, b.add(k, b.mul(i, plan.k // atom.k))),
            b=_part(s.b, (depth, step), (column, n), s.transpose_b),
            c=Region(s.c.buffer, (Range(c_at, b.const(values, i32)),)),
            init=None if init == b.const(False) else init,
            transpose_a=s.transpose_a,
            transpose_b=s.transpose_b,
            span=s.span,
        )

    def _a(self, row: Expr, depth: Expr, m: Expr, step: Expr, number: Expr) -> Region:
        buffer: Buffer = self.cx.buffers[self.a.buffer]
        if buffer.scope == "shared":
            return _part(self.a, (row, m), (depth, step), self.s.transpose_a)
        values = self.plan.atom.m * self.plan.atom.k // self.plan.atom.threads
        return Region(buffer.name, (Range(b.mul(number, values), b.const(values, i32)),))


def _part(
    region: Region, first: tuple[Expr, Expr], second: tuple[Expr, Expr], turned: bool
) -> Region:
    """The box of an operand at (offset, extent) along its two logical axes."""
    pair = (second, first) if turned else (first, second)
    *outer, x, y = region.ranges
    ranges = [Range(b.add(r.start, at), size) for r, (at, size) in zip((x, y), pair, strict=True)]
    return Region(region.buffer, (*outer, *ranges), region.slot)
