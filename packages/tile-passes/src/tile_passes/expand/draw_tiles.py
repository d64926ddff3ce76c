"""Let blocks draw their tiles where the Plan says so: who is done first takes the next one.

The producer draws, one tile ahead of itself, from a counter that all blocks of the launch share.
The number goes to the other roles through a channel of two slots, so they are a tile behind at
most. It is drawn before the last fillings of a tile, whose wait for free slots hides the time that
the counter takes. One block of a cluster draws for all: the number comes to each producer through a
channel of the cluster first.

    pipeline: plan-roles, plan-tiles, plan-pipeline, expand-pipeline, warp-specialize, expand-tiles, draw-tiles
    before:
        func @f(A: global f32[64, 64], B: global f32[64, 64]) {
          kernel @f {
            tiles (bx) in (4) claim = dynamic {
              alloc s: shared f32[16, 64]
              for k in (0, 1, 1) pipelined num_stages = 1 {
                copy A[bx * 16 : +16, :] -> s[:, :]
                copy s[:, :] -> B[bx * 16 : +16, :]
              }
            }
          }
        }
    after:
        func @f(A: global f32[64, 64], B: global f32[64, 64]) {
          alloc drawn: global u32[1] kept
          kernel @f threads = (256), blocks = min(4, device_workers()) {
            alloc s: shared f32[16, 64]
            channel s_ring: ring(1) carries (s) from engine box_load to role compute arrivals 4 bytes = 4096
            alloc next: shared i32[1] slots 2
            channel next_ring: ring(2) carries (next) from role producer arrivals 1 to role compute
            role producer warps = 4, elect = 1 {
              alloc next_tile: var i32[]
              tiles (bx) in (4) claim = dynamic, next = next_tile {
                claim drawn -> number of 4
                for k in (0, 1, 1) serial {
                  acquire s_ring
                  issue box_load onto = s_ring {
                    copy A[bx * 16 : +16, :] -> s@s_ring[:, :]
                  }
                  commit s_ring
                }
                acquire next_ring
                store next@next_ring[0] = number
                commit next_ring
                store next_tile[] = number
              }
            }
            role compute warps = 4 {
              alloc next_tile_1: var i32[]
              tiles (bx) in (4) claim = dynamic, next = next_tile_1 {
                for k in (0, 1, 1) serial {
                  wait s_ring
                  copy s@s_ring[:, :] -> B[bx * 16 : +16, :]
                  release s_ring
                }
                wait next_ring
                store next_tile_1[] = next@next_ring[0]
                release next_ring
              }
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

import dataclasses
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Load, Slot
from tile_ir.ops import (
    Acquire,
    Alloc,
    Channel,
    Claim,
    Commit,
    End,
    For,
    Kernel,
    Let,
    Release,
    Role,
    Store,
    Tiles,
    Wait,
)
from tile_ir.rewrite import map_stmts, replace, walk, with_body
from tile_ir.types import i32, u32
from tile_passes.base import Pass
from tile_passes.naming import Names
from tile_passes.plan.plan_tiles import DYNAMIC

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

_SLOTS = 2
"""Numbers under way: the others read one while the next is drawn."""


def draw_tiles(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Draw the tiles of loops that are claimed dynamically."""
    names = Names.of(fn)

    def kernel(stmt: Stmt) -> Stmt | Body | None:
        if not isinstance(stmt, Kernel) or not any(_is_drawn(s) for s in walk(stmt.body)):
            return None
        return _Drawing(names).kernel(stmt)

    return with_body(fn, map_stmts(fn.body, kernel))


def _is_drawn(s: Stmt) -> bool:
    return isinstance(s, Tiles) and s.claim == DYNAMIC and not s.next


class _Drawing:
    """Rewrites one kernel."""

    def __init__(self, names: Names) -> None:
        self.names = names
        one = (b.const(1, i32),)
        self.counter = Buffer(name=names.fresh("drawn"), dtype=u32, shape=one, scope="global")
        self.mail = Buffer(
            name=names.fresh("next"), dtype=i32, shape=one, scope="shared", slots=_SLOTS
        )
        self.ring = names.fresh(f"{self.mail.name}_ring")
        self.shared = dataclasses.replace(self.mail, name=names.fresh("shared_next"))
        self.cluster_ring = names.fresh(f"{self.shared.name}_ring")
        self.together = False
        """Whether blocks of a cluster take their tiles together."""

    def kernel(self, stmt: Kernel) -> Body:
        """The counter, and the kernel that draws from it."""
        roles = [s for s in stmt.body if isinstance(s, Role)]
        drawer, user = (
            next(r.name for r in roles if bool(r.elect) is elected) for elected in (True, False)
        )
        channel = Channel(
            name=self.ring,
            depth=_SLOTS,
            carries=(self.mail.name,),
            producer=End("role", drawer, 1),
            consumer=End("role", user),
        )
        self.together = prod(stmt.cluster) > 1
        body: list[Stmt] = []
        for s in stmt.body:
            if s is roles[0]:
                body += (Alloc(buffer=self.mail), channel)
                body += self._joint(drawer) if self.together else ()
            body.append(self._role(s) if isinstance(s, Role) else s)
        return (Alloc(buffer=self.counter, kept=True), replace(stmt, body=tuple(body)))

    def _joint(self, drawer: str) -> Body:
        """What brings a number to the producers of a cluster: each waits for 4 bytes."""
        end, size = End("role", drawer), self.shared.dtype.storage_bits // 8
        channel = Channel(
            name=self.cluster_ring,
            depth=_SLOTS,
            carries=(self.shared.name,),
            producer=end,
            consumer=end,
            scope="cluster",
            bytes=size,
        )
        return (Alloc(buffer=self.shared), channel)

    def _role(self, role: Role) -> Role:
        own = Buffer(
            name=self.names.fresh(f"{self.mail.name}_tile"), dtype=i32, shape=(), scope="var"
        )
        body: list[Stmt] = []
        for s in role.body:
            if isinstance(s, Tiles) and _is_drawn(s):
                inner = self._drawn(s, own) if role.elect else self._told(s, own)
                body += (Alloc(buffer=own), replace(s, next=own.name, body=inner))
            else:
                body.append(s)
        return replace(role, body=tuple(body))

    def _drawn(self, tiles: Tiles, own: Buffer) -> Body:
        """A tile of the role that draws, which hands the number on when it has done its part."""
        count: Expr = b.const(1, i32)
        for extent in tiles.extents:
            count = b.mul(count, extent)
        number, at = self.names.var("number"), _place(tiles.body)
        one = Claim(counter=self.counter.name, result=number, tiles=count, span=tiles.span)
        draw: Body = (one,)
        known: Body = ()
        if self.together:
            draw, known = self._drawn_together(number, count, tiles)
        return (
            *tiles.body[:at],
            *draw,
            *tiles.body[at:],
            *known,
            Acquire(channel=self.ring, span=tiles.span),
            Store(
                buffer=self.mail.name,
                slot=Slot(self.ring),
                indices=(b.const(0, i32),),
                value=number,
                span=tiles.span,
            ),
            Commit(channel=self.ring, span=tiles.span),
            Store(buffer=own.name, indices=(), value=number, span=tiles.span),
        )

    def _drawn_together(self, number: Var, count: Expr, tiles: Tiles) -> tuple[Body, Body]:
        """Drawing for a cluster, and what makes the number known."""
        ring, span = self.cluster_ring, tiles.span
        told = Load(self.shared.name, (b.const(0, i32),), i32, Slot(ring))
        draw = (
            Acquire(channel=ring, span=span),
            Claim(counter=self.counter.name, tiles=count, onto=ring, span=span),
            Commit(channel=ring, span=span),
        )
        known = (
            Wait(channel=ring, span=span),
            Let(var=number, value=told, span=span),
            Release(channel=ring, span=span),
        )
        return draw, known

    def _told(self, tiles: Tiles, own: Buffer) -> Body:
        """A tile of another role, which is told the next one at its end."""
        number = Load(self.mail.name, (b.const(0, i32),), i32, Slot(self.ring))
        return (
            *tiles.body,
            Wait(channel=self.ring, span=tiles.span),
            Store(buffer=own.name, indices=(), value=number, span=tiles.span),
            Release(channel=self.ring, span=tiles.span),
        )


def _place(body: Body) -> int:
    """Where the number is drawn: as late as still leaves a wait of this tile to hide its time."""
    last = max((i for i, s in enumerate(body) if isinstance(s, For)), default=0)
    filled = any(isinstance(s, Acquire) for s in body[last + 1 :])
    return last + 1 if filled else last


PASS = Pass(
    name="draw-tiles",
    phase="expand",
    rewrite=draw_tiles,
    requires=("roles", "tiles planned"),
    doc=__doc__,
)
