"""Let a tile's result leave during the next tile's main loop.

At the end of a tile its result is only packed into registers of the output type; the loop of the
next tile then puts one chunk of it before the store engine in each of its first iterations, which
are peeled so that registers have constant numbers. What is left after the last tile leaves behind
the tile loop. So the matrix engine waits for the packing alone.

    pipeline: plan-roles, plan-tiles, plan-pipeline, plan-layout, plan-stores, expand-pipeline, warp-specialize, expand-tiles, interleave-stores
    before:
        func @f(A: global f16[1024, 64], B: global f16[64, 64], C: global f16[1024, 64]) {
          kernel @f {
            tiles (bx) in (1024) {
              alloc s: shared f16[64, 16]
              alloc t: shared f16[16, 64]
              alloc x: fragment f32[64, 64]
              for k in (0, 4, 1) pipelined num_stages = 2 {
                copy A[bx * 64 : +64, k * 16 : +16] -> s[:, :] clip
                copy B[k * 16 : +16, :] -> t[:, :]
                gemm s[:, :], t[:, :] -> x[:, :] init = k == 0
              }
              copy x[:, :] -> C[bx * 64 : +64, :] clip
            }
          }
        }
    after:
        func @f(A: global f16[1024, 64], B: global f16[64, 64], C: global f16[1024, 64]) {
          kernel @f threads = (256), blocks = min(1024, device_workers()) {
            alloc s: shared f16[64, 16] slots 2
            alloc t: shared f16[16, 64] slots 2
            alloc C_stage: shared f16[64, 64] layout [d0 (64:64) d1 (64:1) swizzle<3,4,3>]
            channel s_ring: ring(2) carries (s, t) from engine box_load to role compute arrivals 4 bytes = 4096
            channel C_stage_ring: ring(1) carries (C_stage) from role compute arrivals 4 to engine box_store
            role producer warps = 4, elect = 1 {
              tiles (bx) in (1024) claim = static {
                for k in (0, 4, 1) serial {
                  acquire s_ring
                  issue box_load onto = s_ring {
                    copy A[bx * 64 : +64, k * 16 : +16] -> s@s_ring[:, :] clip
                  }
                  issue box_load onto = s_ring {
                    copy B[k * 16 : +16, :] -> t@s_ring[:, :]
                  }
                  commit s_ring
                }
              }
            }
            role compute warps = 4 {
              alloc x_held: fragment f16[64, 64]
              alloc held: var i32[]
              alloc held_bx: var i32[]
              store held[] = 0
              tiles (bx) in (1024) claim = static {
                alloc x: fragment f32[64, 64]
                if true {
                  wait s_ring
                  issue mma {
                    gemm s@s_ring[:, :], t@s_ring[:, :] -> x[:, :] init = 0 == 0
                  }
                  release s_ring
                }
                if held[] != 0 {
                  acquire C_stage_ring
                  copy x_held[:, :] -> C_stage@C_stage_ring[:, :]
                  issue box_store {
                    copy C_stage@C_stage_ring[:, :] -> C[held_bx[] * 64 : +64, :] clip
                  }
                  commit C_stage_ring
                }
                for k in (1, 4, 1) serial {
                  wait s_ring
                  issue mma {
                    gemm s@s_ring[:, :], t@s_ring[:, :] -> x[:, :] init = k == 0
                  }
                  release s_ring
                }
                copy x[:, :] -> x_held[:, :]
                store held_bx[] = bx
                store held[] = 1
              }
              if held[] != 0 {
                acquire C_stage_ring
                copy x_held[:, :] -> C_stage@C_stage_ring[:, :]
                issue box_store {
                  copy C_stage@C_stage_ring[:, :] -> C[held_bx[] * 64 : +64, :] clip
                }
                commit C_stage_ring
              }
              settle_count box_store <= 0 read
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const, Load, free_vars
from tile_ir.ops import (
    Acquire,
    Alloc,
    Commit,
    Copy,
    For,
    If,
    Issue,
    Kernel,
    Let,
    Role,
    Store,
    Tiles,
)
from tile_ir.rewrite import declared, map_all_exprs, map_stmts, replace, substitute, with_body
from tile_ir.types import i32
from tile_passes.base import Pass
from tile_passes.naming import Names
from tile_passes.plan.plan_tiles import IN_A_LOOP
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


_MOST_PEELED = 4
"""Iterations that are written out; more only make the program longer."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Parts:
    """A tile body taken apart: up to the loop, the loop, what else comes after it, the chunks."""

    before: Body
    loop: For
    rest: Body
    chunks: tuple[Body, ...]
    source: Region
    """The result that the chunks are parts of."""


def _parts(body: Body, loop: str, channel: str, stage: str) -> _Parts | None:
    """Take a tile body apart, None when it has not the form that was planned."""
    at = [i for i, s in enumerate(body) if isinstance(s, For) and s.var.name == loop]
    if len(at) != 1:
        return None
    chunks: list[list[Stmt]] = []
    rest: list[Stmt] = []
    source = None
    for stmt in body[at[0] + 1 :]:
        if isinstance(stmt, Acquire) and stmt.channel == channel:
            chunks.append([stmt])
        elif _belongs(stmt, channel, stage):
            chunks[-1].append(stmt)
            source = stmt.src if isinstance(stmt, Copy) else source
        else:
            rest.append(stmt)
    found = body[at[0]]
    if source is None or not isinstance(found, For):
        return None
    made = tuple(tuple(c) for c in chunks)
    return _Parts(body[: at[0]], found, tuple(rest), made, source)


def _belongs(stmt: Stmt, channel: str, stage: str) -> bool:
    if isinstance(stmt, Commit):
        return stmt.channel == channel
    if isinstance(stmt, Issue):
        return isinstance(stmt.body[0], Copy) and stmt.body[0].src.buffer == stage
    return isinstance(stmt, Copy) and stmt.dst.buffer == stage


class _Interleave:
    """Rewrites the compute role of one kernel."""

    def __init__(self, names: Names, buffers: dict[str, Buffer], loop: str, channel: str) -> None:
        self.names, self.buffers, self.loop, self.channel = names, buffers, loop, channel
        self.stage = channel.removesuffix("_ring")

    def role(self, role: Role) -> Role:
        """The role with its results leaving a tile later, if it has any."""
        out: list[Stmt] = []
        for stmt in role.body:
            parts = None
            if isinstance(stmt, Tiles) and stmt.claim in IN_A_LOOP:
                parts = _parts(stmt.body, self.loop, self.channel, self.stage)
            if parts is None:
                out.append(stmt)
                continue
            assert isinstance(stmt, Tiles)
            out += self.tiles(stmt, parts)
        return replace(role, body=tuple(out))

    def tiles(self, tiles: Tiles, parts: _Parts) -> Body:
        """Declarations, the tile loop, and the chunks of the last tile."""
        result = self.buffers[parts.source.buffer]
        held = dataclasses.replace(
            result,
            name=self.names.fresh(f"{result.name}_held"),
            dtype=self.buffers[self.stage].dtype,
        )
        places = self._places(tiles, parts)
        there = Buffer(name=self.names.fresh("held"), dtype=i32, shape=(), scope="var")
        env: dict[Var, Expr] = {v: Load(p.name, (), p.dtype) for v, p in places.items()}
        chunks = _spread([self._moved(c, held, env) for c in parts.chunks])
        some = b.ne(Load(there.name, (), i32), 0)
        packed: Body = (
            Copy(src=b.whole(result), dst=b.whole(held), span=parts.loop.span),
            *(Store(buffer=p.name, indices=(), value=v) for v, p in places.items()),
            Store(buffer=there.name, indices=(), value=b.const(1)),
        )
        body = (*parts.before, *self._peeled(parts.loop, chunks, some), *parts.rest, *packed)
        return (
            Alloc(buffer=held),
            *(Alloc(buffer=p) for p in (there, *places.values())),
            Store(buffer=there.name, indices=(), value=b.const(0)),
            replace(tiles, body=body),
            If(cond=some, then=tuple(s for c in chunks for s in c), span=parts.loop.span),
        )

    def _places(self, tiles: Tiles, parts: _Parts) -> dict[Var, Buffer]:
        """Scalars that keep where the result belongs: one for each index of its tile."""
        bound = {*tiles.vars, *(s.var for s in parts.before if isinstance(s, Let))}
        used = {
            v: None
            for chunk in parts.chunks
            for s in chunk
            if isinstance(s, Issue)
            for e in _starts(s)
            for v in sorted(free_vars(e) & bound, key=lambda v: v.name)
        }
        return {
            v: Buffer(name=self.names.fresh(f"held_{v.name}"), dtype=i32, shape=(), scope="var")
            for v in used
        }

    def _moved(self, chunk: Body, held: Buffer, env: dict[Var, Expr]) -> Body:
        """A chunk of what is held, to where that belongs."""
        out = []
        for stmt in map_all_exprs(chunk, substitute(env)):
            if isinstance(stmt, Copy):
                stmt = replace(stmt, src=Region(held.name, stmt.src.ranges))
            out.append(stmt)
        return tuple(out)

    def _peeled(self, loop: For, chunks: list[Body], some: Expr) -> Body:
        """The first iterations one by one, a chunk after each, then the loop over the others."""
        assert isinstance(loop.step, Const)
        step = int(loop.step.value)
        out: list[Stmt] = []
        for number, chunk in enumerate(chunks):
            value = b.add(loop.start, number * step)
            body = map_all_exprs(loop.body, substitute({loop.var: value}))
            once = renamed(body, self.names)
            out.append(If(cond=_before(value, loop), then=once, span=loop.span))
            out.append(If(cond=some, then=chunk, span=loop.span))
        return (*out, replace(loop, start=b.add(loop.start, len(chunks) * step)))


def _spread(chunks: list[Body]) -> list[Body]:
    """The chunks in few enough portions, each for one iteration."""
    size = -(-len(chunks) // _MOST_PEELED)
    groups = (chunks[i : i + size] for i in range(0, len(chunks), size))
    return [tuple(s for c in group for s in c) for group in groups]


def _starts(issue: Issue) -> tuple[Expr, ...]:
    copy = issue.body[0]
    assert isinstance(copy, Copy)
    return tuple(r.start for r in copy.dst.ranges)


def _before(value: Expr, loop: For) -> Expr:
    upward = isinstance(loop.step, Const) and loop.step.value > 0
    return b.lt(value, loop.stop) if upward else b.gt(value, loop.stop)


def interleave_stores(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Move the planned stores into the next tile's loop."""
    buffers = declared(fn)
    names = Names.of(fn)

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        for decision in plan:
            head, _, what = decision.key.partition(".")
            if head != stmt.name or not what.endswith(".interleave") or not decision.value:
                continue
            assert isinstance(decision.value, tuple)
            loop, channel = map(str, decision.value)
            work = _Interleave(names, buffers, loop, channel)
            body = tuple(work.role(s) if isinstance(s, Role) else s for s in stmt.body)
            stmt = replace(stmt, body=body)
        return stmt

    return with_body(fn, map_stmts(fn.body, kernel))


PASS = Pass(
    name="interleave-stores",
    phase="expand",
    rewrite=interleave_stores,
    requires=("roles", "tiles planned"),
    doc=__doc__,
)
