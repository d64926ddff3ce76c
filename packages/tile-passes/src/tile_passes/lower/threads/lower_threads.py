"""Turn a tile program into the program of one thread of its blocks.

It stands after the Plan was applied, last before emission. Fragments become arrays of registers
with constant indices, shared tiles flat memory at offsets of one arena, tile operations loops over
what one thread has of them; barriers go where threads meet in memory. Roles become branches on the
thread's number, channels barriers that count or groups of copies, issues the instructions that
start them. What a fragment's layout leaves open is chosen here, so the pass also serves programs
that nobody planned.

    before:
        func @f(C: global f32[1024]) {
          kernel @f {
            tiles (bx) in (2) {
              alloc x: fragment f32[512]
              fill x[:], 1.0
              copy x[:] -> C[bx * 512 : +512]
            }
          }
        }
    after:
        func @f(C: global f32[1024]) {
          kernel @f {
            tiles (bx) in (2) {
              let tid = thread_index()
              let t0 = tid * 4
              alloc x: local f32[4]
              for v in (0, 4, 1) unroll {
                store x[v] = 1.0
              }
              store C[ramp(bx * 512 + t0, 1, 4)] = x[ramp(0, 1, 4)]
            }
          }
        }
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.clusters import writes_peers
from tile_ir.core import Function, Stage
from tile_ir.diag import InternalError
from tile_ir.expr import Call, Var
from tile_ir.opdef import opdef
from tile_ir.ops import (
    Alloc,
    Atomic,
    AtomicTile,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    Combine,
    Convert,
    Copy,
    CopyPeer,
    Fill,
    For,
    Gemm,
    If,
    Issue,
    Kernel,
    Let,
    Parallel,
    Pin,
    Print,
    Reduce,
    Role,
    Scan,
    Shuffle,
    Store,
    Tiles,
    Transpose,
    View,
    WarpReduce,
    While,
)
from tile_ir.rewrite import declared as declared_buffers
from tile_ir.rewrite import map_exprs, replace, walk, with_body
from tile_ir.types import i32
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.analysis.manual import brought_for_others, with_engines
from tile_passes.base import Pass
from tile_passes.lower.atomics import lower_clipped_atomic, lower_clipped_store
from tile_passes.lower.context import LowerContext
from tile_passes.lower.copies import lower_transpose
from tile_passes.lower.messages import lower_print
from tile_passes.lower.reductions import lower_scan
from tile_passes.lower.threads.addresses import flattened
from tile_passes.lower.threads.arena import arena
from tile_passes.lower.threads.boxes import (
    box_of_atomic,
    box_of_copy,
    box_of_fill,
    box_of_reduce,
)
from tile_passes.lower.threads.channels import lower_channels, uses_channels
from tile_passes.lower.threads.combine import lower_combine
from tile_passes.lower.threads.context import ThreadContext
from tile_passes.lower.threads.demote import demoted
from tile_passes.lower.threads.elementwise import Elements, lower_parallel, lower_single
from tile_passes.lower.threads.ends import Ring
from tile_passes.lower.threads.first_trips import cleared_before
from tile_passes.lower.threads.groups import group_number, group_threads
from tile_passes.lower.threads.issues import lower_issue
from tile_passes.lower.threads.join_atomics import join_atomics
from tile_passes.lower.threads.layouts import choose_layouts
from tile_passes.lower.threads.moves import lower_convert, lower_fill, lower_pin
from tile_passes.lower.threads.peers import lower_arrival, lower_copy_peer
from tile_passes.lower.threads.pieces import Item, Items, Nest, Piece, assemble
from tile_passes.lower.threads.placed import placed
from tile_passes.lower.threads.products import lower_gemm
from tile_passes.lower.threads.reductions import lower_reduce
from tile_passes.lower.threads.roles import (
    register_limits,
    role_threads,
    roles_of,
    split_by_roles,
)
from tile_passes.lower.threads.slices import lower_copy_of_parts
from tile_passes.lower.threads.spare_fences import spare_fences
from tile_passes.lower.threads.steps import turned
from tile_passes.lower.threads.syncs import insert_syncs
from tile_passes.lower.threads.touches import Toucher
from tile_passes.lower.threads.warps import lower_shuffle, lower_warp_reduce
from tile_passes.naming import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.lower.threads.context import Rule
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "lower_threads"]

ELEMENT_FORMS: Mapping[type[Stmt], Callable[[Stmt, LowerContext], Body | None]] = MappingProxyType(
    {
        Atomic: lower_clipped_atomic,
        AtomicTile: box_of_atomic,
        Copy: box_of_copy,
        Fill: box_of_fill,
        Print: lower_print,
        Reduce: box_of_reduce,
        Scan: lower_scan,
        Store: lower_clipped_store,
        Transpose: lower_transpose,
    }
)
"""Operations that become loops over elements before anything is known of threads; a rule that gives
None leaves its operation to `RULES`."""

RULES: Mapping[type[Stmt], Rule] = MappingProxyType(
    {
        BarrierArrive: lower_arrival,
        BarrierExpect: lower_arrival,
        Combine: lower_combine,
        Convert: lower_convert,
        Copy: lower_copy_of_parts,
        CopyPeer: lower_copy_peer,
        Fill: lower_fill,
        Gemm: lower_gemm,
        Parallel: lower_parallel,
        Pin: lower_pin,
        Reduce: lower_reduce,
        Shuffle: lower_shuffle,
        WarpReduce: lower_warp_reduce,
    }
)
"""The rule of each operation that threads share."""

_UNIFORM = (If, While)
"""What all threads enter together when it stands outside a `parallel`."""


def lower_threads(fn: Function, target: TargetSpec) -> Function:
    """The function of stage `simt`: every kernel as the program of one thread.

    Raises:
        InternalError: E9001 for an operation that has no meaning in a thread's program, or a
            channel that the target has no barriers for.
        TileError: E0703 when barriers do not fit into shared memory.
    """
    buffers = declared_buffers(fn)
    fixed = frozenset([*fn.dims, *(p.scalar for p in fn.params if p.scalar is not None)])
    strict = fn.numerics == "strict"
    host = _Host(target, FactWalk.of(fn), buffers, Names.of(fn), fixed, strict)
    body = host.body(fn.body, Facts.of_dims(fn.dims))
    return dataclasses.replace(with_body(fn, body), stage=Stage.SIMT)


@dataclass(frozen=True, slots=True)
class _Host:
    """The walk over what the host runs, with the facts at each kernel."""

    target: TargetSpec
    walk: FactWalk
    buffers: dict[str, Buffer]
    names: Names
    fixed: frozenset[Var]
    strict: bool

    def body(self, body: Body, facts: Facts) -> Body:
        out: list[Stmt] = []
        for s in body:
            out.append(self._stmt(s, facts))
            facts = self.walk.after(s, facts)
        return tuple(out)

    def _stmt(self, s: Stmt, facts: Facts) -> Stmt:
        if isinstance(s, If):
            yes, no = facts.assume(s.cond), facts.assume_not(s.cond)
            return replace(s, then=self.body(s.then, yes), orelse=self.body(s.orelse, no))
        return self._kernel(s, facts) if isinstance(s, Kernel) else s

    def _kernel(self, s: Kernel, facts: Facts) -> Kernel:
        threads = prod(s.threads)
        body, rings = with_engines(s.body, self.target), dict[str, Ring]()
        s = replace(s, body=body)
        if uses_channels(body):
            body, rings = lower_channels(s, self.target, self.buffers, self.names)
        scalars = [v for ring in rings.values() for c in ring.cursors for v in c.scalars]
        self.buffers.update((v.name, v) for v in scalars)
        steps = FactWalk(self.walk.written | {v.name for v in scalars})
        body = demoted(body, self.buffers)
        issued = frozenset(id(t) for i in walk(body) if isinstance(i, Issue) for t in i.body)
        forms = _ElementForms(self.buffers, self.names, self.strict, issued)
        made = steps.rewrite(body, facts, forms.visit)
        body = body if made is body else demoted(made, self.buffers)
        roles = roles_of(body)
        for part, count in [(r.body, role_threads(r, self.target)) for r in roles] or [
            (body, threads)
        ]:
            self._choose_layouts(part, count)
        cx = ThreadContext(
            target=self.target,
            threads=threads,
            thread=self.names.var("tid", i32),
            buffers=self.buffers,
            names=self.names,
            facts=facts,
            fixed=self.fixed,
            strict=self.strict,
            rings=rings,
        )
        lowering = _Lowering(steps, cx, register_limits(roles, threads, self.target))
        handed, written = brought_for_others(body), writes_peers(s.body)
        items = lowering.kernel(body, facts)
        return replace(s, body=self._finished(items, rings, handed, written, threads))

    def _finished(
        self,
        items: Items,
        rings: Mapping[str, Ring],
        handed: frozenset[str],
        written: bool,
        threads: int,
    ) -> Body:
        """The kernel's body with shared tiles at their offsets and barriers in between."""
        carried = frozenset(n for ring in rings.values() for n in ring.channel.carries) | handed
        toucher = Toucher(self.buffers)
        # Other blocks may write here at any time, whatever this one is at.
        own = {s.buffer.name for s in walk(assemble(items)) if isinstance(s, Alloc)}
        found = arena(items, toucher, carried | (own if written else frozenset()))

        def overlap(a: str, c: str) -> bool:
            # The channel's own protocol orders what its ends do to a slot.
            return a not in carried and c not in carried and found.overlap(a, c)

        body = assemble(insert_syncs(items, toucher, overlap))
        if not rings and any(isinstance(s, Barriers) for s in walk(body)):
            body = spare_fences(body, self.buffers)
        body = join_atomics(body, self.buffers, self.target.atomics.get("add", ()), threads)
        room = self.target.capacity("shared")
        return placed(body, found.placed, self.buffers, self.names, room)

    def _choose_layouts(self, body: Body, threads: int) -> None:
        own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}
        seen = {n: b for n, b in self.buffers.items() if b.scope != "fragment" or n in own}
        for name, layout in choose_layouts(body, seen, self.target, threads).items():
            self.buffers[name] = dataclasses.replace(self.buffers[name], layout=layout)


@dataclass(frozen=True, slots=True)
class _ElementForms:
    buffers: Mapping[str, Buffer]
    names: Names
    strict: bool
    issued: frozenset[int]
    """Identities of the statements that engines carry out as they are."""

    def visit(self, stmt: Stmt, facts: Facts) -> Stmt | Body | None:
        rule = ELEMENT_FORMS.get(type(stmt))
        if rule is None or id(stmt) in self.issued:
            return None
        cx = LowerContext(buffers=self.buffers, names=self.names, facts=facts, strict=self.strict)
        made = rule(stmt, cx)
        return stmt if made is None or made == (stmt,) else made


@dataclass(frozen=True, slots=True)
class _Lowering:
    """The walk that turns statements into pieces, with the facts at each."""

    walk: FactWalk
    cx: ThreadContext
    limits: dict[str, Body]
    """What the warps of each role do first."""

    def kernel(self, body: Body, facts: Facts) -> Items:
        """The items of a kernel; roles around their tile loops need the thread's number first."""
        if not any(isinstance(s, Role) for s in body):
            return self.body(body, facts)
        cx = dataclasses.replace(self.cx, bound=True, own={})
        items = dataclasses.replace(self, cx=cx).body(body, facts)
        return (self._bind(), *cx.bindings(), *items)

    def _bind(self) -> Piece:
        return Piece((Let(var=self.cx.thread, value=Call("thread_index", (), i32)),))

    def body(self, body: Body, facts: Facts) -> Items:
        out: list[Item] = []
        roles = [s for s in body if isinstance(s, Role)]
        for s in body:
            if not isinstance(s, Role):
                out.extend(self.stmt(s, facts))
            elif s is roles[0]:  # the others run at the same time
                out.extend(self._roles(body, facts))
            facts = self.walk.after(s, facts)
        return tuple(out)

    def _grouped(self, cx: ThreadContext) -> tuple[Items, ThreadContext]:
        """The number of a thread's group of warps, found once where there are several."""
        size = group_threads(cx.target)
        if cx.threads <= size or size == cx.target.warp_width:
            return (), cx
        group = cx.names.var("group")
        let = Let(var=group, value=group_number(cx.thread, size, cx.target))
        return (Piece((let,)),), dataclasses.replace(cx, group=group)

    def _roles(self, body: Body, facts: Facts) -> Items:
        def lower(role: Role, thread: Var) -> Items:
            count = role_threads(role, self.cx.target)
            own = dataclasses.replace(self.cx, threads=count, thread=thread, bound=True, own={})
            lead, own = self._grouped(own)
            items = dataclasses.replace(self, cx=own).body(role.body, facts)
            return (*lead, *own.bindings(), *items)

        cx = dataclasses.replace(self.cx, facts=facts)
        return split_by_roles(roles_of(body), cx, lower, self.limits)

    def stmt(self, s: Stmt, facts: Facts) -> Items:
        cx = dataclasses.replace(self.cx, facts=facts)
        rule = RULES.get(type(s))
        if isinstance(s, Issue):
            return lower_issue(s, cx)
        if rule is not None:
            # A loop's elements are its rule's business; elsewhere expressions hold for all threads.
            return rule(s if isinstance(s, Parallel) else map_exprs(s, Elements(cx).expr), cx)
        if isinstance(s, Tiles):
            fixed = cx.fixed | set(s.vars) if s.claim == "hardware" else cx.fixed
            own = dataclasses.replace(cx, fixed=fixed, bound=True, own=cx.own if cx.bound else {})
            inner = dataclasses.replace(self, cx=own)
            items = inner.body(s.body, self.walk.inside(s, facts))
            if not cx.bound:
                items = (self._bind(), *own.bindings(), *items)
            return (Nest(s, (("body", items),)),)
        if isinstance(s, For):
            fills, s = cleared_before(s, cx.buffers, facts)
            return (*self.body(fills, facts), *turned(self._nest(s, facts, cx), cx))
        if isinstance(s, _UNIFORM):
            return (self._nest(s, facts, cx),)
        if isinstance(s, Alloc):
            return (Piece((self._alloc(s, cx),)),)
        if isinstance(s, View):
            # Only shared memory is addressed by one offset.
            seen = flattened(s.buffer) if s.buffer.scope == "shared" else s.buffer
            return (Piece((replace(s, buffer=seen),)),)
        if Stage.SIMT not in opdef(s).stages:
            name = opdef(s).name
            raise InternalError("E9001", f"`{name}` in a thread's program", span=s.span)
        return lower_single(s, cx)

    def _nest(self, s: Stmt, facts: Facts, cx: ThreadContext) -> Nest:
        head = map_exprs(s, Elements(cx).expr)
        if isinstance(s, If):
            yes = no = facts
            if self.walk.stable(s.cond):
                yes, no = facts.assume(s.cond), facts.assume_not(s.cond)
            return Nest(
                head, (("then", self.body(s.then, yes)), ("orelse", self.body(s.orelse, no)))
            )
        assert isinstance(s, (For, While))
        return Nest(head, (("body", self.body(s.body, self.walk.inside(s, facts))),))

    def _alloc(self, s: Alloc, cx: ThreadContext) -> Stmt:
        buffer = cx.buffers.get(s.buffer.name, s.buffer)
        if buffer.scope == "fragment":
            return replace(s, buffer=cx.registers(buffer))
        return replace(s, buffer=buffer)


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return lower_threads(fn, cx.target)


PASS = Pass(name="lower-threads", phase="lower", rewrite=_run, ensures=("simt",), doc=__doc__)
