"""Share the loop over a product's inner axis between two blocks of a cluster.

The tile loop gets an axis of parts. Each part runs its share of the iterations into sums of its
own; then the sums are added up in the first block, which goes on alone. Comes before everything
that counts tiles or iterations, as `plan-split` decided (`split` of a loop).

    pipeline: plan-split, split-loops
    pins: {"f.k.split": 2}
    before:
        func @f(A: global f16[64, 128], B: global f16[128, 64], C: global f32[64, 64]) {
          kernel @f threads = (128) {
            tiles (bx) in (1) {
              alloc A_s: shared f16[64, 32]
              alloc B_s: shared f16[32, 64]
              alloc C_l: fragment f32[64, 64]
              for k in (0, 4, 1) pipelined num_stages = 4 {
                copy A[:, k * 32 : +32] -> A_s[:, :]
                copy B[k * 32 : +32, :] -> B_s[:, :]
                gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = k == 0
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @f(A: global f16[64, 128], B: global f16[128, 64], C: global f32[64, 64]) {
          kernel @f cluster = (1, 2) {
            tiles (bx, part) in (1, 2) {
              alloc A_s: shared f16[64, 32]
              alloc B_s: shared f16[32, 64]
              alloc C_l: fragment f32[64, 64]
              alloc C_l_inbox: shared f32[4096]
              for k in (0, 2, 1) pipelined num_stages = 4 {
                copy A[:, (k + part * 2) * 32 : +32] -> A_s[:, :]
                copy B[(k + part * 2) * 32 : +32, :] -> B_s[:, :]
                gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = k == 0
              }
              combine C_l[:, :] by C_l_inbox[:] at part
              if part == 0 {
                copy C_l[:, :] -> C[:, :]
              }
            }
          }
        }
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Const
from tile_ir.ops import (
    Alloc,
    Assert,
    CallExtern,
    Combine,
    Gemm,
    If,
    Kernel,
    Let,
    Parallel,
    Print,
    Store,
)
from tile_ir.rewrite import (
    declared,
    map_all_exprs,
    map_stmts,
    replace,
    substitute,
    walk,
    with_body,
)
from tile_ir.types import i32
from tile_passes.analysis.dependence import touches
from tile_passes.base import Pass
from tile_passes.naming import Names
from tile_passes.plan.keys import Names as Keys
from tile_passes.plan.keys import kernels, loop_key, tiles_of
from tile_passes.plan.survey import threads_of
from tile_passes.plan.unroll_copies import pipelined, private_tiles, touched_beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_ir.expr import Var
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import For, Tiles
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

PARTS = 2
"""Blocks that share a loop: more do not fill a device whose cores come in groups of odd size."""

_WORD_BITS = 32


def trips_of(loop: For) -> int:
    """The iterations of a loop, 0 where they are not known."""
    bounds = (loop.start, loop.stop, loop.step)
    if not all(isinstance(e, Const) for e in bounds):
        return 0
    return len(range(*(int(e.value) for e in bounds if isinstance(e, Const))))


def splittable(
    fn: Function, kernel: Kernel, tiles: Tiles, loop: For, buffers: Mapping[str, Buffer]
) -> bool:
    """Whether a loop directly in the tile loop does nothing but add products up, which nothing
    before it has begun, and nothing but what comes after it changes what others see.
    """
    at = next(i for i, s in enumerate(tiles.body) if s is loop)
    before, after, sums = tiles.body[:at], tiles.body[at + 1 :], sums_of(loop, buffers)
    if not sums or fn.numerics == "strict" or loop.order or loop.stage:
        return False
    once = (Print, Assert, CallExtern)  # what is seen to happen twice
    if any(isinstance(s, once) for s in walk((*before, loop))) or any(pipelined(after)):
        return False
    own = {*private_tiles(tiles.body, loop, buffers), *sums}
    own |= _set_by_threads(tiles.body, loop, buffers)
    shared = {n for n, b in buffers.items() if b.scope == "global"} | set(sums)
    return (
        _written(loop.body) <= own
        and not _written(before) & shared
        and all(_shareable(buffers[name], threads_of(kernel.threads)) for name in sums)
    )


def sums_of(loop: For, buffers: Mapping[str, Buffer]) -> tuple[str, ...]:
    """The fragments that a loop fills with sums of products over its iterations, and nothing else;
    none where it has any other products.
    """
    products = [s for s in loop.body if isinstance(s, Gemm)]
    found: dict[str, None] = {}
    for s in products:
        c = buffers[s.c.buffer]
        alone = not any(c.name in touches(o) for o in loop.body if not isinstance(o, Gemm))
        # Further products into the same sums go on with what the first has begun.
        begins = None if c.name in found else b.eq(loop.var, loop.start)
        if s.c != b.whole(c) or c.scope != "fragment" or not alone or s.init != begins:
            return ()
        if any(c.name in (o.a.buffer, o.b.buffer) for o in products):
            return ()
        found[c.name] = None
    return tuple(found)


def _set_by_threads(body: Body, loop: For, buffers: Mapping[str, Buffer]) -> set[str]:
    """The fragments that each iteration of `loop` sets as a whole, element by element, before it
    reads them, and that nothing else in `body` touches."""
    seen, found = touched_beside(body, loop), set()
    for s in loop.body:
        made = _set_as_a_whole(s, buffers)
        if made is not None and made not in seen:
            found.add(made)
        seen |= set(touches(s))
    return found


def _set_as_a_whole(s: Stmt, buffers: Mapping[str, Buffer]) -> str | None:
    """The fragment of which a loop of threads sets each element, without a look at it."""
    if not isinstance(s, Parallel) or not all(isinstance(x, Let) for x in s.body[:-1]):
        return None
    last = s.body[-1]
    if not isinstance(last, Store) or buffers[last.buffer].scope != "fragment":
        return None
    whole = last.indices == s.vars and s.extents == buffers[last.buffer].shape
    return last.buffer if whole and not touches(s)[last.buffer].reads else None


def _written(body: Body) -> set[str]:
    """The buffers that statements change."""
    return {name for s in body for name, touch in touches(s).items() if touch.writes}


def _shareable(sums: Buffer, threads: int) -> bool:
    """Whether threads hold equally many whole words of a fragment."""
    elements = prod(int(e.value) for e in sums.shape if isinstance(e, Const))
    return sums.dtype.storage_bits == _WORD_BITS and elements % threads == 0


def split_loops(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Share the loops whose plan has several parts."""
    if not any(d.key.endswith(".split") and d.value == PARTS for d in plan):
        return fn
    buffers, names = declared(fn), Names.of(fn)
    chosen: dict[int, For] = {}
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        keys = Keys.of(tiles.body)
        for path, loop in pipelined(tiles.body):
            if plan.value(f"{kernel.name}.{loop_key(keys[path])}.split", 1) == PARTS:
                chosen[id(tiles)] = loop

    def visit(s: Stmt) -> Stmt | None:
        if not isinstance(s, Kernel):
            return None
        tiles = tiles_of(s)
        if tiles is None or id(tiles) not in chosen:
            return None
        made = _shared(tiles, chosen[id(tiles)], buffers, names)
        body = tuple(made if x is tiles else x for x in s.body)
        return replace(s, cluster=(*(1 for _ in tiles.vars), PARTS), body=body)

    return with_body(fn, map_stmts(fn.body, visit))


def _shared(tiles: Tiles, loop: For, buffers: Mapping[str, Buffer], names: Names) -> Tiles:
    """The tile loop with an axis of parts."""
    part = names.var("part")
    at = next(i for i, s in enumerate(tiles.body) if s is loop)
    sums = [buffers[n] for n in sums_of(loop, buffers)]
    boxes = [_inbox(c, names) for c in sums]
    first = If(cond=b.eq(part, 0), then=tiles.body[at + 1 :], orelse=(), span=loop.span)
    body = (
        *tiles.body[:at],
        *(Alloc(buffer=box, span=loop.span) for box in boxes),
        _share_of(loop, part, {c.name for c in sums}),
        *(
            Combine(dst=b.whole(c), inbox=b.whole(box), rank=part, span=loop.span)
            for c, box in zip(sums, boxes, strict=True)
        ),
        first,
    )
    extents = (*tiles.extents, b.const(PARTS, i32))
    return replace(tiles, vars=(*tiles.vars, part), extents=extents, body=body)


def _inbox(sums: Buffer, names: Names) -> Buffer:
    """Where the other block's sums come in."""
    elements = prod(int(e.value) for e in sums.shape if isinstance(e, Const)) * (PARTS - 1)
    name = names.fresh(f"{sums.name}_inbox")
    return Buffer(name=name, dtype=sums.dtype, shape=(b.const(elements, i32),), scope="shared")


def _share_of(loop: For, part: Var, sums: set[str]) -> For:
    """The iterations of one part, counted as those of the first."""
    assert isinstance(loop.start, Const)
    assert isinstance(loop.step, Const)
    step = int(loop.step.value)
    share = trips_of(loop) // PARTS * step
    moved = substitute({loop.var: b.add(loop.var, b.mul(part, share))})
    body: list[Stmt] = []
    for s, made in zip(loop.body, map_all_exprs(loop.body, moved), strict=True):
        # A part's own first iteration begins its sums.
        anew = isinstance(s, Gemm) and s.c.buffer in sums
        body.append(replace(made, init=s.init) if anew else made)  # type: ignore[attr-defined]  # a product
    stop = b.const(int(loop.start.value) + share, i32)
    return replace(loop, stop=stop, body=tuple(body))


PASS = Pass(name="split-loops", phase="legalize", rewrite=split_loops, doc=__doc__)
