"""Apply the planned channels, stages and orders: copies become fillings of channels, products of an
asynchronous engine are issued, pipelined loops become prologue, steady loop and epilogue.

The result is one role's program: right as it stands when everything happens at its issue.
`insert-settles` adds what waits for products, `warp-specialize` gives the fillings a role of their
own.

    pipeline: plan-roles, plan-pipeline, expand-pipeline
    before:
        func @scale(A: global f32[K, 64], B: global f32[K, 64]) dims (K) {
          kernel @scale {
            tiles (bx) in (1) {
              alloc s: shared f32[16, 64]
              for k in (0, ceildiv(K, 16), 1) pipelined num_stages = 2 {
                copy A[k * 16 : +16, :] -> s[:, :] clip
                copy s[:, :] -> B[k * 16 : +16, :] clip
              }
            }
          }
        }
    after:
        func @scale(A: global f32[K, 64], B: global f32[K, 64]) dims (K) {
          kernel @scale {
            tiles (bx) in (1) {
              alloc s: shared f32[16, 64] slots 2
              channel s_ring: ring(2) carries (s) from engine box_load to role compute arrivals 4 bytes = 4096
              for k in (0, ceildiv(K, 16), 1) serial {
                acquire s_ring
                issue box_load onto = s_ring {
                  copy A[k * 16 : +16, :] -> s@s_ring[:, :] clip
                }
                commit s_ring
                wait s_ring
                copy s@s_ring[:, :] -> B[k * 16 : +16, :] clip
                release s_ring
              }
            }
          }
        }
"""  # noqa: E501 -- a channel is one line

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Function, Stage
from tile_ir.expr import Slot
from tile_ir.opdef import bodies, opdef
from tile_ir.ops import (
    MATRIX,
    Acquire,
    Alloc,
    Channel,
    Commit,
    End,
    For,
    Gemm,
    Issue,
    Kernel,
    Parallel,
    Pin,
    Release,
    Role,
    Tiles,
    Wait,
)
from tile_ir.rewrite import declared, map_all_exprs, map_stmts, replace, substitute
from tile_passes.analysis.dependence import touches
from tile_passes.base import Pass
from tile_passes.expand.instances import Carried, Expansion, Item
from tile_passes.expand.slots import with_slots
from tile_passes.expand.split_copies import fetch, filling, held_tiles, with_deposits
from tile_passes.expand.stores import last_settles, stage_of, store, store_channel
from tile_passes.plan.channels import Ring, rings
from tile_passes.plan.keys import loop_key
from tile_passes.plan.outlets import outlets
from tile_passes.plan.plan_pipeline import is_asynchronous
from tile_passes.plan.plan_roles import ROLES_APART, ROLES_ONE, STAGED
from tile_passes.plan.settle_pins import pinned_registers
from tile_passes.plan.survey import free_scalars, survey, threads_of

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan


class _Kernel:
    """Expands the tile body of one kernel."""

    def __init__(
        self, kernel: Kernel, body: Body, buffers: dict[str, Buffer], cx: PassContext, plan: Plan
    ) -> None:
        self.kernel, self.cx, self.plan, self.buffers = kernel, cx, plan, buffers
        self.found = survey(body, buffers, cx.target)
        self.rings = rings(self.found, kernel.name, plan)
        self.apart = plan.value(f"{kernel.name}.roles", ROLES_ONE) == ROLES_APART
        self.depths = {r.name: self._depth(r) for r in self.rings}
        self.carrier = {n: r for r in self.rings for n in r.buffers}
        self.outlets = outlets(self.found, kernel.name, plan)
        self.held = held_tiles(self.rings, kernel.name, plan, buffers)
        self.allocs: dict[str, Alloc] = {}
        self.role = ""
        """The role of the kernel's own whose body is expanded."""

    def _depth(self, ring: Ring) -> int:
        value = self.plan.value(f"{self.kernel.name}.channel[{ring.name}]", (ring.engine, 1))
        assert isinstance(value, tuple)
        return int(value[1])  # type: ignore[arg-type]  # a channel's second entry is its depth

    def run(self, body: Body) -> Body:
        """The tile body with declarations first."""
        made = self.body(body, ())
        allocs = [self._slotted(a) for a in self.allocs.values()]
        warps = self._warps()
        out = [store_channel(o, warps) for o in self.outlets]
        stages = [stage_of(o) for o in self.outlets if o.staged]
        left = last_settles(self.outlets)
        allocs += self.held
        return (*allocs, *stages, *map(self._channel, self.rings), *out, *made, *left)

    def _slotted(self, alloc: Alloc) -> Alloc:
        ring = self.carrier.get(alloc.buffer.name)
        if ring is None or self.depths[ring.name] == 1:
            return alloc
        slots = self.depths[ring.name]
        return replace(alloc, buffer=dataclasses.replace(alloc.buffer, slots=slots))

    def _channel(self, ring: Ring) -> Channel:
        engine = self.cx.target.copy.get(ring.engine)
        user = End("role", "compute", self._warps())
        return Channel(
            name=ring.name,
            depth=self.depths[ring.name],
            carries=ring.buffers,
            producer=user if engine is None else End("engine", ring.engine),
            consumer=user,
            bytes=ring.bytes if engine is not None and engine.completion == "barrier" else 0,
            span=ring.fills[0].stmt.span,
        )

    def _warps(self) -> int:
        return max(1, threads_of(self.kernel.threads) // self.cx.target.warp_width)

    # -- bodies in program order

    def body(self, body: Body, at: Path) -> Body:
        """A body that is not pipelined: fillings where their first copy stood."""
        mine = [r for r in self.rings if r.body == at]
        starts = {r.fills[0].path[-1]: r for r in mine}
        filling = {f.path[-1] for r in mine for f in r.fills}
        slots = {n: Slot(r.name) for r in mine for n in r.buffers}
        leaving = {o.drain.path[-1]: o for o in self.outlets if o.drain.path[:-1] == at}
        slots |= {o.buffer.name: Slot(o.channel) for o in leaving.values() if not o.staged}
        out: list[Stmt] = []
        for i, stmt in enumerate(body):
            begun = (o for o in leaving.values() if o.drain.first == i and not o.staged)
            out.extend(Acquire(channel=o.channel, span=stmt.span) for o in begun)
            if i in filling:
                out += self.fill(starts[i]) if i in starts else ()
                continue
            out += [Wait(channel=r.name, span=stmt.span) for r in mine if r.fills[0].first == i]
            outlet = leaving.get(i)
            made = self.stmt(stmt, (*at, i)) if outlet is None else store(outlet)
            out += with_slots(made, slots)
            out += [Release(channel=r.name, span=stmt.span) for r in mine if r.fills[0].last == i]
        return tuple(out)

    def fill(self, ring: Ring) -> Body:
        """One filling of a channel."""
        if ring.engine == STAGED:
            return filling(ring, tuple(f.stmt for f in ring.fills))
        slots = {n: Slot(ring.name) for n in ring.buffers}
        issues = (
            Issue(
                engine=ring.engine,
                onto=ring.name,
                body=with_slots((f.stmt,), slots),
                span=f.stmt.span,
            )
            for f in ring.fills
        )
        first, last = ring.fills[0].stmt.span, ring.fills[-1].stmt.span
        return (
            Acquire(channel=ring.name, span=first),
            *issues,
            Commit(channel=ring.name, span=last),
        )

    def stmt(self, stmt: Stmt, path: Path) -> Body:
        """A statement with its bodies expanded; declarations move to the front of the tile."""
        if isinstance(stmt, Alloc):
            if self.role and stmt.buffer.scope != "shared":
                return (stmt,)
            self.allocs.setdefault(stmt.buffer.name, stmt)
            return ()
        if isinstance(stmt, Role):
            return (self.manual_role(stmt, path),)
        if isinstance(stmt, Issue) and isinstance(stmt.body[0], Gemm):  # the kernel's own
            return self.stmt(stmt.body[0], (*path, 0, 0))
        if isinstance(stmt, Gemm) and self.asynchronous(path):
            return (Issue(engine=MATRIX, body=(stmt,), span=stmt.span),)
        if isinstance(stmt, For) and self.order(path) is not None:
            return self.loop(stmt, path)
        if isinstance(stmt, Parallel) or not bodies(stmt):
            return (stmt,)
        fields = [f.name for f in opdef(stmt).of_kind("region")]
        made = {n: self.body(getattr(stmt, n), (*path, k)) for k, n in enumerate(fields)}
        return (replace(stmt, **made),)

    def manual_role(self, stmt: Role, path: Path) -> Role:
        """A role of the kernel's own, whose registers are declared in it."""
        self.role = stmt.name
        body = self.body(stmt.body, (*path, 0))
        self.role = ""
        return replace(stmt, warps=stmt.threads // self.cx.target.warp_width, body=body)

    def asynchronous(self, path: Path) -> bool:
        """Whether the product there is issued."""
        return is_asynchronous(self.plan, self.cx, self.kernel.name, self.found.names[path])

    def order(self, path: Path) -> tuple[str, ...] | None:
        """The planned order of a loop's statements, None when it is not pipelined."""
        key = f"{self.kernel.name}.{loop_key(self.found.names[path])}.order"
        decision = self.plan.find(key)
        return None if decision is None else decision.value  # type: ignore[return-value]  # an order is names

    # -- pipelined loops

    def loop(self, loop: For, path: Path) -> Body:
        """Expand a pipelined loop by its plan."""
        inside = (*path, 0)
        key = f"{self.kernel.name}.{loop_key(self.found.names[path])}"
        pairs = self.plan.value(f"{key}.stage", ())
        stages: dict[str, int] = dict(pairs)  # type: ignore[arg-type]  # pairs of name and stage
        place = {self.found.names.child(inside, i): i for i in range(len(loop.body))}
        mine = [r for r in self.rings if r.body == inside]
        leaving = {o.drain.path[-1]: o for o in self.outlets if o.drain.path[:-1] == inside}
        scalars = free_scalars(loop.body, self.found.stable)
        held = self.plan.value(f"{key}.pin", ())
        assert isinstance(held, tuple)
        items = []
        for name in self.order(path) or ():
            stmt = loop.body[place[name]]
            outlet = leaving.get(place[name])
            body = self.stmt(stmt, (*inside, place[name])) if outlet is None else store(outlet)
            touched = touches(stmt)
            reads = frozenset(r.name for r in mine if any(n in touched for n in r.buffers))
            body = map_all_exprs(body, substitute(scalars)) if scalars else body
            body += self._pins(stmt) if name in held else ()
            items.append(Item(stage=stages.get(name, 0), body=body, reads=reads))
        carried = _carried(items, mine)
        items, carried = self._with_fills(items, carried, mine, scalars)
        for stmt in loop.body:
            if isinstance(stmt, Alloc):
                self.allocs.setdefault(stmt.buffer.name, stmt)
        made = Expansion(loop, tuple(items), carried)
        return made.expand(lambda: (self._serial(loop, inside),))

    def _pins(self, stmt: Stmt) -> Body:
        """What keeps the next wait behind the results of a statement."""
        names = pinned_registers(stmt, self.buffers)
        whole = (b.whole(self.buffers[n]) for n in names)
        return tuple(Pin(value=value, engine=MATRIX, span=stmt.span) for value in whole)

    def _serial(self, loop: For, inside: Path) -> For:
        body = self.body(loop.body, inside)
        return replace(loop, kind="serial", num_stages=0, order=(), stage=(), body=body)

    def _with_fills(
        self,
        items: list[Item],
        carried: tuple[Carried, ...],
        mine: list[Ring],
        scalars: dict[Var, Expr],
    ) -> tuple[list[Item], tuple[Carried, ...]]:
        """Put each filling directly before its first reader, as many iterations ahead as the role
        may run.
        """
        ring_of = {r.name: r for r in mine}
        before: dict[int, list[Carried]] = {}
        for c in carried:
            before.setdefault(c.first, []).append(c)
        out: list[Item] = []
        moved: dict[int, int] = {}
        for i, item in enumerate(items):
            for c in before.get(i, ()):
                ring = ring_of[c.name]
                staged = ring.engine == STAGED
                body = fetch(ring) if staged else self.fill(ring)
                body = map_all_exprs(body, substitute(scalars)) if scalars else body
                stage = item.stage - (1 if staged else self._ahead(ring, items))
                out.append(Item(stage=stage, body=body, fills=c.name))
            moved[i] = len(out)
            out.append(item)
        again = (dataclasses.replace(c, first=moved[c.first], last=moved[c.last]) for c in carried)
        halved = {r.name: r for r in mine if r.engine == STAGED}
        return with_deposits(out, tuple(again), halved, self.depths)

    def _ahead(self, ring: Ring, items: list[Item]) -> int:
        """Iterations by which a filling precedes its use in one role's order.

        A role of its own runs ahead by itself. Else one slot is being read; another one is still
        being read by the product before when that is asynchronous.
        """
        if self.apart and self.cx.target.copy[ring.engine].elect:
            return 0
        readers = [i for i in items if ring.name in i.reads]
        late = any(isinstance(s, Issue) for i in readers for s in i.body)
        lag = max(i.stage for i in readers) - min(i.stage for i in readers)
        return max(0, self.depths[ring.name] - lag - (2 if late else 1))


def _carried(items: list[Item], mine: list[Ring]) -> tuple[Carried, ...]:
    """Which items read a filling first and last: by stage, then by order."""
    out = []
    for ring in mine:
        readers = [(item.stage, i) for i, item in enumerate(items) if ring.name in item.reads]
        out.append(
            Carried(
                name=ring.name,
                buffers=ring.buffers,
                first=min(readers)[1],
                last=max(readers)[1],
            )
        )
    return tuple(out)


def expand_pipeline(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Apply channels, stages and orders; the program is `scheduled` afterwards."""
    buffers = declared(fn)

    def kernel(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Kernel):
            return None
        body = tuple(
            replace(s, body=_Kernel(stmt, s.body, buffers, cx, plan).run(s.body))
            if isinstance(s, Tiles)
            else s
            for s in stmt.body
        )
        return replace(stmt, body=body)

    return dataclasses.replace(fn, body=map_stmts(fn.body, kernel), stage=Stage.SCHEDULED)


PASS = Pass(
    name="expand-pipeline",
    phase="expand",
    rewrite=expand_pipeline,
    requires=("planned",),
    ensures=("scheduled",),
    doc=__doc__,
)
