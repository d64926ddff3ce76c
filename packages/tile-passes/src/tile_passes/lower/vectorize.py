"""Turn element loops into vector loops.

It stands after the tile operations became `parallel` loops: their iterations are independent, so
the innermost axis whose accesses are consecutive is done in steps of a vector, with single steps
for what is left. Reductions that may be reordered get vector accumulators. What has no vector form
becomes plain loops. Afterwards no `parallel` is left.

    before:  parallel (i, j) in (8, 100) { store C[i, j] = A[i, j] * s[i] }
    after:   for i in (0, 8, 1) {
               let s_u: f32 = s[i]
               for j in (0, 85, 16) {
                 store C[i, ramp(j, 1, 16)] = A[i, ramp(j, 1, 16)] * broadcast(s_u, 16) }
               for j_1 in (96, 100, 1) { store C[i, j_1] = A[i, j_1] * s[i] } }
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Load, Var
from tile_ir.opdef import Body, Stmt, bodies
from tile_ir.ops import For, Let, Parallel, Store
from tile_ir.rewrite import (
    declared,
    map_all_exprs,
    map_bodies,
    replace,
    substitute,
    walk,
    with_body,
)
from tile_passes.lower.context import ZERO
from tile_passes.lower.loops import counted, ends
from tile_passes.lower.vector_body import Capabilities, NotVectorizable, VectorBody
from tile_passes.lower.vector_reduce import vector_reduction
from tile_passes.naming import Names
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function

__all__ = ["vectorize"]

MIN_LANES = 4


@dataclass(slots=True)
class _Vectorizer:
    caps: Capabilities
    names: Names
    buffers: dict[str, Buffer]
    limits: dict[Var, int] = field(default_factory=dict)
    """Variables bound to a minimum with a constant: what they never exceed."""

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        same = True
        for s in body:
            if isinstance(s, Let):
                self._note_limit(s)
            made = self.statement(s)
            same = same and len(made) == 1 and made[0] is s
            out.extend(made)
        return body if same else tuple(out)

    def statement(self, s: Stmt) -> Body:
        if isinstance(s, Parallel):
            return self.parallel(s)
        if isinstance(s, For) and s.kind == "vectorized":
            return self.reduction(s) or self.independent(s) or (self.serial(s),)
        return (map_bodies(s, self.body),)

    def _note_limit(self, s: Let) -> None:
        if isinstance(s.value, Binary) and s.value.op == "min" and isinstance(s.value.b, Const):
            self.limits[s.var] = int(s.value.b.value)

    def _limit(self, extent: Expr) -> int | None:
        """The most iterations that a loop may have, where that is known."""
        if isinstance(extent, Const):
            return int(extent.value)
        if isinstance(extent, Var):
            return self.limits.get(extent)
        if isinstance(extent, Binary) and extent.op == "sub" and isinstance(extent.a, Const):
            return int(extent.a.value)  # what is left of a tile after a part of it
        return None

    # -- loops of independent iterations

    def parallel(self, s: Parallel) -> Body:
        """Vector steps along the last axis, or inside the body; plain loops along the others."""
        inner = self._inner(s.body)
        if inner is not None:
            return _nest(s, len(s.vars), inner)
        *_, var = s.vars
        made = self._vector_loop(var, ZERO, s.extents[-1], s.body, s)
        if made is not None:
            return _nest(s, len(s.vars) - 1, made)
        return _nest(s, len(s.vars), self.body(s.body))

    def _inner(self, body: Body) -> Body | None:
        """The body with its own loops vectorized, when every reduction and loop in it can be; else
        None.
        """
        nested = [s for s in body if bodies(s)]
        if not nested or not all(isinstance(s, (For, Parallel)) for s in nested):
            return None
        if any(isinstance(s, For) and s.kind != "vectorized" for s in nested):
            return None
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, For):
                made = self.reduction(s)
                if made is None:
                    return None
                out.extend(made)
            else:
                out.extend(self.statement(s))
        return tuple(out)

    def independent(self, s: For) -> Body | None:
        """A loop that its author declared to be one vector access."""
        if not (isinstance(s.step, Const) and s.step.value == 1):
            return None
        return self._vector_loop(s.var, s.start, s.stop, s.body, s)

    def serial(self, s: For) -> For:
        return replace(map_bodies(s, self.body), kind="serial")

    def _vector_loop(self, var: Var, start: Expr, stop: Expr, body: Body, at: Stmt) -> Body | None:
        extent = b.sub(stop, start)
        lanes = self._lanes(body, var, extent)
        if lanes < MIN_LANES:
            return None
        work = VectorBody(
            var=var,
            lanes=lanes,
            caps=self.caps,
            names=self.names,
            buffers=self.buffers,
            runs=b.gt(stop, start),
            span=at.span,
            values=ends(start, stop),
        )
        try:
            made = work.run(body)
        except NotVectorizable:
            return None
        main = counted(var, start, b.sub(stop, lanes - 1), lanes, made, at.span)
        rest = self._rest(var, start, stop, lanes, body, at)
        return (*work.hoisted, *main, *rest)

    def _rest(self, var: Var, start: Expr, stop: Expr, lanes: int, body: Body, at: Stmt) -> Body:
        """Single steps for the iterations that fill no vector."""
        extent = b.sub(stop, start)
        first = b.add(start, b.mul(b.truncdiv(extent, lanes), lanes))
        if first is stop or first == stop:
            return ()
        one = self.names.var(var.name, var.dtype)
        swap = substitute({var: one})
        if isinstance(extent, Const):  # what is left of a known number may fill a shorter vector
            again = map_all_exprs(renamed(body, self.names), swap)
            made = self._vector_loop(one, first, stop, again, at)
            if made is not None:
                return made
        tail = map_all_exprs(renamed(self.body(body), self.names), swap)
        return counted(one, first, stop, 1, tail, at.span)

    def reduction(self, s: For) -> Body | None:
        """Vector accumulators for a loop that only combines values into one scalar."""
        lanes = self._lanes(s.body, s.var, b.sub(s.stop, s.start))
        if lanes < MIN_LANES:
            return None
        made = vector_reduction(s, lanes, self.caps, self.names, self.buffers)
        rest = made[-1] if made else None
        if made is None or not (isinstance(rest, For) and rest.kind == "vectorized"):
            return made
        known = isinstance(rest.start, Const) and isinstance(rest.stop, Const)
        shorter = self.reduction(rest) if known else None
        return (*made[:-1], *(shorter or (self.serial(rest),)))

    def _lanes(self, body: Body, var: Var, extent: Expr) -> int:
        """Lanes of the widest type that is computed with, no more than there are iterations."""
        lanes = self.caps.bytes * 8 // max(32, _widest(body, self.caps))
        limit = self._limit(extent)
        while limit is not None and lanes > limit:
            lanes //= 2
        return lanes


def _widest(body: Body, caps: Capabilities) -> int:
    """Bits of the widest lane computed by any statement; index arithmetic does not count."""
    widest = 0
    for s in walk(body):
        for e in _values(s):
            widest = max(widest, _widest_node(e, caps, {}))
    return widest


def _values(s: Stmt) -> tuple[Expr, ...]:
    return (s.value,) if isinstance(s, (Store, Let)) else ()


def _widest_node(e: Expr, caps: Capabilities, seen: dict[Expr, int]) -> int:
    if e in seen:
        return seen[e]
    inner = () if isinstance(e, Load) else e.children()
    own = 0 if isinstance(e, (Const, Var)) and e.dtype.is_int else caps.carrier_bits(e.dtype)
    seen[e] = max([own, *(_widest_node(c, caps, seen) for c in inner)])
    return seen[e]


def _nest(s: Parallel, axes: int, body: Body) -> Body:
    """Plain loops over the first `axes` axes around `body`."""
    for var, extent in zip(reversed(s.vars[:axes]), reversed(s.extents[:axes]), strict=True):
        body = counted(var, ZERO, extent, 1, body, s.span)
    return body


def vectorize(fn: Function, caps: Capabilities) -> Function:
    """Return the function with vector loops for `caps` and no `parallel` left."""
    work = _Vectorizer(caps, Names.of(fn), declared(fn))
    return with_body(fn, work.body(fn.body))
