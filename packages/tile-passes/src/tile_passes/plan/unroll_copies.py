"""Give the tiles of an iteration copies: a pipelined loop runs as many iterations as one.

A product that must not overwrite its accumulator before vector work has read it cannot start early;
with an accumulator for each of two iterations it can. Registers have no run-time index, so that the
loop is unrolled. Every tile that an iteration fills anew and nothing outside of it sees is copied,
shared ones too, and the stages of the loop are shared among the copies. Comes before everything
that speaks of statements by name, as `plan-copies` decided (`copies` of a loop).

    pipeline: plan-copies, unroll-copies
    pins: {"f.k.copies": 2}
    before:
        func @f(A: global f16[64, 128], B: global f16[128, 64], C: global f32[64, 64]) {
          kernel @f threads = (128) {
            tiles (bx) in (1) {
              alloc A_s: shared f16[64, 32]
              alloc B_s: shared f16[32, 64]
              alloc part: fragment f32[64, 64]
              alloc C_l: fragment f32[64, 64]
              fill C_l[:, :], 0.0
              for k in (0, 4, 1) pipelined num_stages = 4 {
                copy A[:, k * 32 : +32] -> A_s[:, :]
                copy B[k * 32 : +32, :] -> B_s[:, :]
                gemm A_s[:, :], B_s[:, :] -> part[:, :] init = true
                parallel (i, j) in (64, 64) {
                  store C_l[i, j] = C_l[i, j] + part[i, j] * 0.5
                }
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @f(A: global f16[64, 128], B: global f16[128, 64], C: global f32[64, 64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc A_s: shared f16[64, 32]
              alloc A_s_1: shared f16[64, 32]
              alloc B_s: shared f16[32, 64]
              alloc B_s_1: shared f16[32, 64]
              alloc part: fragment f32[64, 64]
              alloc part_1: fragment f32[64, 64]
              alloc C_l: fragment f32[64, 64]
              fill C_l[:, :], 0.0
              for k in (0, 4, 2) pipelined num_stages = 2 {
                copy A[:, k * 32 : +32] -> A_s[:, :]
                copy B[k * 32 : +32, :] -> B_s[:, :]
                gemm A_s[:, :], B_s[:, :] -> part[:, :] init = true
                parallel (i, j) in (64, 64) {
                  store C_l[i, j] = C_l[i, j] + part[i, j] * 0.5
                }
                copy A[:, (k + 1) * 32 : +32] -> A_s_1[:, :]
                copy B[(k + 1) * 32 : +32, :] -> B_s_1[:, :]
                gemm A_s_1[:, :], B_s_1[:, :] -> part_1[:, :] init = true
                parallel (i_1, j_1) in (64, 64) {
                  store C_l[i_1, j_1] = C_l[i_1, j_1] + part_1[i_1, j_1] * 0.5
                }
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, loads
from tile_ir.opdef import bodies
from tile_ir.ops import Alloc, Copy, Fill, For, Gemm, Reduce, View
from tile_ir.rewrite import (
    declared,
    map_all_exprs,
    map_bodies,
    replace,
    stmt_exprs,
    substitute,
    walk,
    with_body,
)
from tile_passes.analysis.dependence import touches
from tile_passes.base import Pass, PassContext
from tile_passes.naming import Names
from tile_passes.plan.keys import Names as Keys
from tile_passes.plan.keys import kernels, loop_key, tiles_of
from tile_passes.renaming import renamed, with_buffer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan

COPIES = 2
"""Two iterations are in flight at most: one is computed, one is used."""


def even_trips(loop: For) -> bool:
    """Whether a loop is known to run a whole number of times `COPIES` iterations, at least once."""
    bounds = (loop.start, loop.stop, loop.step)
    if not all(isinstance(e, Const) for e in bounds):
        return False
    trips = len(range(*(int(e.value) for e in bounds if isinstance(e, Const))))
    return trips > 0 and trips % COPIES == 0


def is_plain(loop: For) -> bool:
    """Whether the statements of a loop can stand in it twice."""
    by_hand = bool(loop.order or loop.stage)
    return not by_hand and not any(isinstance(s, (Alloc, View)) for s in walk(loop.body))


def private_tiles(body: Body, loop: For, buffers: Mapping[str, Buffer]) -> tuple[str, ...]:
    """The tiles that each iteration of `loop`, which stands in `body`, fills anew before it reads
    them, and that nothing else touches: in the order of their filling."""
    outside = touched_beside(body, loop)
    viewed = {name for s in walk(body) if isinstance(s, View) for name in (s.source, s.buffer.name)}
    seen: set[str] = outside | viewed
    found: list[str] = []
    for stmt in loop.body:
        target = filled(stmt, buffers)
        if target is not None and target not in seen:
            found.append(target)
        seen |= set(touches(stmt))
    return tuple(found)


def touched_beside(body: Body, loop: For) -> set[str]:
    """What the statements of a body touch outside of a loop, which stands in it."""
    found: set[str] = set()
    for s in body:
        if s is loop:
            continue
        if any(inner is loop for inner in walk((s,))):
            found |= {x.buffer for e in stmt_exprs(s) for x in loads(e)}
            for inside in bodies(s):
                found |= touched_beside(inside, loop)
        elif not isinstance(s, Alloc):
            found |= set(touches(s))
    return found


def filled(stmt: Stmt, buffers: Mapping[str, Buffer]) -> str | None:
    """The tile that a statement sets as a whole, whatever it held."""
    if isinstance(stmt, Gemm):
        alone = stmt.c.buffer not in (stmt.a.buffer, stmt.b.buffer)
        region = stmt.c if alone and stmt.init == b.const(True) else None
    elif isinstance(stmt, Reduce):
        region = stmt.dst if stmt.clear and stmt.src.buffer != stmt.dst.buffer else None
    elif isinstance(stmt, (Copy, Fill)):
        region = stmt.dst
    else:
        region = None
    if region is None:
        return None
    buffer = buffers[region.buffer]
    whole = region == b.whole(buffer) and buffer.scope in ("shared", "fragment")
    return buffer.name if whole else None


def unrolled(loop: For, copies: Mapping[str, str], names: Names) -> For:
    """The loop over pairs of iterations; the second one uses the tiles that `copies` names, and has
    scalars of its own.
    """
    assert isinstance(loop.step, Const)
    step = int(loop.step.value)
    later = map_all_exprs(loop.body, substitute({loop.var: b.add(loop.var, step)}))
    later = renamed(later, names)
    for old, new in copies.items():
        later = tuple(with_buffer(s, old, new) for s in later)
    return replace(
        loop,
        step=Const(step * COPIES, loop.step.dtype),
        num_stages=-(-loop.num_stages // COPIES),
        body=(*loop.body, *later),
    )


def with_copies(fn: Function, loops: Mapping[int, tuple[str, ...]]) -> Function:
    """The function with some loops unrolled: those whose `id` is a key, with the tiles to copy."""
    names = Names.of(fn)
    copies = {loop: {t: names.fresh(t) for t in tiles} for loop, tiles in loops.items()}
    made = {old: new for pairs in copies.values() for old, new in pairs.items()}

    def visit(body: Body) -> Body:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Alloc) and s.buffer.name in made:
                copy = dataclasses.replace(s.buffer, name=made[s.buffer.name])
                out += [s, replace(s, buffer=copy)]
            elif id(s) in copies:
                assert isinstance(s, For)
                out.append(unrolled(s, copies[id(s)], names))
            else:
                out.append(map_bodies(s, visit))
        return tuple(out)

    return with_body(fn, visit(fn.body))


def unroll_copies(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Unroll the loops whose plan has several copies."""
    if not any(d.key.endswith(".copies") and d.value == COPIES for d in plan):
        return fn
    buffers, chosen = declared(fn), dict[int, tuple[str, ...]]()
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        keys = Keys.of(tiles.body)
        for path, loop in pipelined(tiles.body):
            if plan.value(f"{kernel.name}.{loop_key(keys[path])}.copies", 1) == COPIES:
                chosen[id(loop)] = private_tiles(tiles.body, loop, buffers)
    return with_copies(fn, chosen) if chosen else fn


def pipelined(body: Body, at: Path = ()) -> Iterator[tuple[Path, For]]:
    """The pipelined loops of a body with their paths, outer before inner."""
    for i, s in enumerate(body):
        if isinstance(s, For) and s.kind == "pipelined":
            yield (*at, i), s
        for k, inner in enumerate(bodies(s)):
            yield from pipelined(inner, (*at, i, k))


PASS = Pass(name="unroll-copies", phase="legalize", rewrite=unroll_copies, doc=__doc__)
