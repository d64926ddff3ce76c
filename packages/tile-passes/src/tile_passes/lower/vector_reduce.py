"""A loop that combines values into scalars, done with vectors of partial results.

The order in which values are combined changes, so only loops that say so (kind `vectorized`) come
here. They may do other work on the way. Long loops keep several vectors in flight: one addition
must not wait for the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir import expr as ex
from tile_ir.core import Buffer
from tile_ir.expr import Binary, Broadcast, Call, Const, Expr, Load, loads
from tile_ir.ops import Alloc, For, Store
from tile_ir.rewrite import replace, stmt_exprs, walk
from tile_passes.lower.loops import counted, ends, with_value
from tile_passes.lower.reductions import identity
from tile_passes.lower.vector_body import Capabilities, NotVectorizable, VectorBody
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from tile_ir.expr import Var
    from tile_ir.opdef import Body, Stmt
    from tile_passes.naming import Names

__all__ = ["vector_reduction"]

_LANE_FUNCTIONS = {
    "add": ("sum", "sum_lanes"),
    "max": ("max", "max_lanes"),
    "min": ("min", "min_lanes"),
    "and": ("and", "and_lanes"),
    "or": ("or", "or_lanes"),
    "xor": ("xor", "xor_lanes"),
}
IN_FLIGHT = 4
"""Latency of an addition on present cores, in cycles, at one vector loaded per cycle."""


def vector_reduction(
    s: For, lanes: int, caps: Capabilities, names: Names, buffers: dict[str, Buffer]
) -> Body | None:
    """The vector form of a reduction loop, or None when it is no such loop.

    Values that fill no vector are left to a last loop of kind `vectorized`.
    """
    found = _accumulations(s, buffers)
    if not found:
        return None
    count = IN_FLIGHT if _is_long(s, lanes) else 1
    work = _Reduction(s, lanes, caps, names, buffers, found)
    try:
        return work.run(count)
    except NotVectorizable:
        return None


def _accumulations(s: For, buffers: dict[str, Buffer]) -> dict[str, str]:
    """Accumulator -> operator, for every `acc = acc op value` of the body; empty when another
    statement touches an accumulator.
    """
    if not (isinstance(s.step, Const) and s.step.value == 1):
        return {}
    inside = {x.buffer.name for x in walk(s.body) if isinstance(x, Alloc)}
    found: dict[str, str] = {}
    for x in s.body:
        if not isinstance(x, Store) or x.buffer in inside or buffers[x.buffer].scope != "var":
            continue
        op = _operator(x, buffers[x.buffer])
        if op is None or x.buffer in found:
            return {}
        found[x.buffer] = op
    reads = [ld.buffer for x in walk(s.body) for e in stmt_exprs(x) for ld in loads(e)]
    return found if all(reads.count(name) == 1 for name in found) else {}


def _operator(s: Store, acc: Buffer) -> str | None:
    value = s.value
    if not isinstance(value, Binary) or value.op not in _LANE_FUNCTIONS or value.dtype.is_bool:
        return None
    return value.op if value.a == Load(acc.name, (), acc.dtype) else None


def _is_long(s: For, lanes: int) -> bool:
    """Whether several vectors in flight pay: many trips, and nothing that takes long anyway."""
    exprs = [e for x in walk(s.body) for e in stmt_exprs(x)]
    if any(isinstance(n, Call) for e in exprs for n in ex.walk(e)):
        return False
    extent = b.sub(s.stop, s.start)
    if not isinstance(extent, Const):
        return True
    chunk = IN_FLIGHT * lanes
    return extent.value >= 2 * chunk or extent.value == chunk


@dataclass(slots=True)
class _Reduction:
    loop: For
    lanes: int
    caps: Capabilities
    names: Names
    buffers: dict[str, Buffer]
    accumulators: dict[str, str]
    hoisted: list[Stmt] = field(default_factory=list)
    scalars: dict[Expr, Expr] = field(default_factory=dict)

    def run(self, count: int) -> Body:
        """Accumulators, the loop over `count` vectors, the loop over one, totals, and the rest."""
        s, step = self.loop, self.lanes
        extent = b.sub(s.stop, s.start)
        parts = [self._parts() for _ in range(count)]
        loops: list[Stmt] = []
        first = s.start
        if count > 1:
            body = [x for n, part in enumerate(parts) for x in self._vector(part, n * step)]
            loops += self._for(first, count * step, tuple(body))
            first = b.add(s.start, b.mul(b.truncdiv(extent, count * step), count * step))
        if not _reaches(first, s.stop):
            loops += self._for(first, step, self._vector(parts[0], 0))
        out: list[Stmt] = [*self.hoisted, *self._cleared(parts), *loops, *self._totals(parts)]
        rest = b.add(s.start, b.mul(b.truncdiv(extent, step), step))
        if not _reaches(rest, s.stop):
            out += renamed((replace(s, start=rest),), self.names)
        return tuple(out)

    def _parts(self) -> dict[str, Buffer]:
        """A vector for each accumulator."""
        return {
            name: Buffer(
                name=self.names.fresh(f"{name}_v"),
                dtype=self.buffers[name].dtype.with_lanes(self.lanes),
                shape=(),
                scope="var",
            )
            for name in self.accumulators
        }

    def _vector(self, parts: dict[str, Buffer], ahead: int) -> Body:
        """The body for the vector that starts `ahead` iterations on."""
        s = self.loop
        body = renamed(s.body, self.names)
        if ahead:
            body = with_value(body, s.var, b.add(s.var, ahead))
        work = VectorBody(
            var=s.var, lanes=self.lanes, caps=self.caps, names=self.names, buffers=self.buffers,
            runs=b.gt(s.stop, s.start), span=s.span, sums=parts,
            hoisted=self.hoisted, scalars=self.scalars, values=ends(s.start, s.stop),
        )  # fmt: skip
        return work.run(body)

    def _for(self, start: Expr, step: int, body: Body) -> Body:
        s = self.loop
        var: Var = self.names.var(s.var.name, s.var.dtype)
        inner = with_value(body, s.var, var)
        return counted(var, start, b.sub(s.stop, step - 1), step, inner, s.span)

    def _cleared(self, parts: list[dict[str, Buffer]]) -> Body:
        out: list[Stmt] = []
        for part in parts:
            for name, vector in part.items():
                kind = _LANE_FUNCTIONS[self.accumulators[name]][0]
                start = Broadcast(identity(kind, vector.dtype.scalar), vector.dtype)
                out += [Alloc(buffer=vector, span=self.loop.span), self._put(vector, start)]
        return tuple(out)

    def _totals(self, parts: list[dict[str, Buffer]]) -> Body:
        """Every accumulator with the partial results in it."""
        out: list[Stmt] = []
        for name, op in self.accumulators.items():
            acc = self.buffers[name]
            total: Expr = _value(parts[0][name])
            for part in parts[1:]:
                total = Binary(op, total, _value(part[name]), total.dtype)
            across = Call(_LANE_FUNCTIONS[op][1], (total,), acc.dtype)
            out.append(self._put(acc, Binary(op, _value(acc), across, acc.dtype)))
        return tuple(out)

    def _put(self, where: Buffer, value: Expr) -> Store:
        return Store(buffer=where.name, indices=(), value=value, span=self.loop.span)


def _reaches(start: Expr, stop: Expr) -> bool:
    return isinstance(start, Const) and isinstance(stop, Const) and start.value >= stop.value


def _value(of: Buffer) -> Load:
    return Load(of.name, (), of.dtype)
