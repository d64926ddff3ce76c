"""Matrix products: by matrix instructions where the description has one that fits, else by
multiplications and additions of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Expr, Load
from tile_ir.ops import For, Gemm, If
from tile_ir.rewrite import replace
from tile_ir.types import f32
from tile_passes.lower.threads.addresses import ZERO
from tile_passes.lower.threads.atoms import lower_product, tiling
from tile_passes.lower.threads.context import declared, put
from tile_passes.lower.threads.moves import filled, move
from tile_passes.lower.threads.pieces import Item, Items, Nest, Piece
from tile_passes.lower.threads.spread import ONE, dealt, over_box, register

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region
    from tile_ir.diag import Span
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_gemm"]


def lower_gemm(s: Stmt, cx: ThreadContext) -> Items:
    """A product; its accumulator is brought where the rule wants it."""
    assert isinstance(s, Gemm)
    c = cx.buffers[s.c.buffer]
    plan = tiling(s, cx.buffers, cx.target, cx.threads)
    if plan is not None:
        if _lies(c, plan.accumulator, cx):
            # Once before the product, rather than a question before each of its instructions.
            cleared = () if s.init is None else (_cleared(s.init, c, cx, s.span),)
            return (*cleared, *lower_product(s, plan, cx))
        return _accumulated_in(plan.accumulator, c.dtype, s, cx)
    kind = _accumulator(c.dtype)
    if c.scope == "fragment" and c.rank == 2 and c.dtype is kind:
        return _by_elements(s, cx)
    m, n = (int(r.extent.value) for r in s.c.ranges[-2:])  # type: ignore[attr-defined]  # tiles are static
    return _accumulated_in(dealt((m, n), cx.threads), kind, s, cx)


def _cleared(
    init: Expr, c: Buffer, cx: ThreadContext, span: Span | None, otherwise: Items = ()
) -> Item:
    """The accumulator set to zero where `init` holds, else what has to be done instead."""
    zero = Piece(filled(c, b.const(0, c.dtype), cx, span))
    if init == b.const(True):
        return zero
    head = If(cond=init, then=(), span=span)
    return Nest(head, (("then", (zero,)), ("orelse", otherwise)))


def _lies(c: Buffer, layout: FragmentLayout, cx: ThreadContext) -> bool:
    if c.scope != "fragment" or c.rank != 2:
        return False
    return over_box(cx.layout(c), cx.threads) == layout


def _accumulator(c: DType) -> DType:
    return f32 if c.is_float and c.bits < f32.bits else c


def _accumulated_in(layout: FragmentLayout, kind: DType, s: Gemm, cx: ThreadContext) -> Items:
    """The product into a temporary that lies as wanted, with copies before and after."""
    shape = [int(r.extent.value) for r in s.c.ranges[-2:]]  # type: ignore[attr-defined]  # tiles are static
    acc, alloc = cx.fragment("acc", kind, shape, layout)
    full = b.whole(acc)
    before = move(s.c, full, cx, span=s.span)
    if s.init is not None:
        before = (_cleared(s.init, acc, cx, s.span, before),)
    product = lower_gemm(replace(s, c=full, init=None), cx)
    return (declared(alloc), *before, *product, *move(full, s.c, cx, span=s.span))


def _by_elements(s: Gemm, cx: ThreadContext) -> Items:
    """Along k: each thread multiplies for each element of c that it holds."""
    staged: list[Stmt] = []
    moved: Items = ()
    operands = []
    for region in (s.a, s.b):
        buffer = cx.buffers[region.buffer]
        if buffer.scope == "fragment":
            shape = [int(e.value) for e in buffer.shape]  # type: ignore[attr-defined]  # tiles are static
            stage, alloc = cx.shared(f"{buffer.name}_st", buffer.dtype, shape)
            staged.append(alloc)
            moved += move(region, b.whole(stage), cx, span=s.span)
            region = b.whole(stage)
        operands.append(region)
    c = cx.buffers[s.c.buffer]
    extents = [int(r.extent.value) for r in s.c.ranges]  # type: ignore[attr-defined]  # tiles are static
    held = cx.layout(c)
    box = over_box(held, cx.threads)
    assert box is not None  # it fits the block already
    over = cx.spread(box, extents)
    at = register(held, over, (0, 1))
    assert at is not None  # its own layout
    k = cx.names.var("k")
    a_item = _element(operands[0], over.at[0], k, s.transpose_a, cx)
    b_item = _element(operands[1], over.at[1], k, not s.transpose_b, cx)
    product = b.mul(b.cast(a_item, c.dtype), b.cast(b_item, c.dtype))
    step = put(c, (at,), b.add(Load(c.name, (at,), c.dtype), product), s.span)
    depth = s.a.ranges[-2 if s.transpose_a else -1].extent
    inner = over.nest((step,), s.span)
    loop = For(var=k, start=ZERO, stop=depth, step=ONE, body=inner, span=s.span)
    body: list[Stmt] = []
    if s.init is not None:
        zero = filled(c, b.const(0, c.dtype), cx, s.span)
        body.append(If(cond=s.init, then=zero, span=s.span))
    return (declared(*staged), *moved, Piece((*body, loop)))


def _element(region: Region, outer: Expr, k: Expr, k_first: bool, cx: ThreadContext) -> Load:
    """An operand's element at coordinate `outer` of m or n, and at k."""
    pair = (k, outer) if k_first else (outer, k)
    starts = [r.start for r in region.ranges]
    at = (*starts[:-2], *(b.add(x, i) for x, i in zip(starts[-2:], pair, strict=True)))
    return cx.load(cx.buffers[region.buffer], at)
