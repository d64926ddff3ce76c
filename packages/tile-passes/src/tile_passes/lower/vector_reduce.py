"""A loop that combines values into one scalar, done with a vector of partial results.

The order in which values are combined changes, so only loops that say so (kind `vectorized`) come
here. Long loops keep several vectors in flight: one addition must not wait for the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Binary, Broadcast, Call, Const, Expr, Load, loads
from tile_ir.ops import Alloc, For, Store
from tile_ir.rewrite import map_all_exprs, replace, substitute
from tile_passes.lower.loops import counted
from tile_passes.lower.reductions import identity
from tile_passes.lower.renaming import renamed
from tile_passes.lower.vector_body import Capabilities, NotVectorizable, VectorBody

if TYPE_CHECKING:
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
    found = _step(s, buffers)
    if found is None:
        return None
    acc, op, item = found
    work = VectorBody(
        var=s.var, lanes=lanes, caps=caps, names=names, buffers=buffers, runs=b.gt(s.stop, s.start),
        span=s.span, written={acc.name}, bound={s.var},
    )  # fmt: skip
    try:
        vector = work.vector(item)
    except NotVectorizable:
        return None
    return (*work.hoisted, *_loops(s, acc, op, vector, lanes, names))


def _step(s: For, buffers: dict[str, Buffer]) -> tuple[Buffer, str, Expr] | None:
    """(accumulator, operator, value) when the body is one `acc = acc op value`."""
    if len(s.body) != 1 or not (isinstance(s.step, Const) and s.step.value == 1):
        return None
    only = s.body[0]
    if not isinstance(only, Store) or buffers[only.buffer].scope != "var":
        return None
    acc, value = buffers[only.buffer], only.value
    if not isinstance(value, Binary) or value.op not in _LANE_FUNCTIONS or value.dtype.is_bool:
        return None
    if value.a != Load(acc.name, (), acc.dtype):
        return None
    if any(ld.buffer == acc.name for ld in loads(value.b)):
        return None
    return acc, value.op, value.b


def _loops(s: For, acc: Buffer, op: str, vector: Expr, lanes: int, names: Names) -> Body:
    extent = b.sub(s.stop, s.start)
    kind, across = _LANE_FUNCTIONS[op]
    count = IN_FLIGHT if _is_long(extent, lanes) else 1
    parts = [
        Buffer(name=names.fresh(f"{acc.name}_v"), dtype=vector.dtype, shape=(), scope="var")
        for _ in range(count)
    ]
    start = Broadcast(identity(kind, acc.dtype), vector.dtype)
    out: list[Stmt] = []
    for part in parts:
        out += [Alloc(buffer=part, span=s.span), _put(part, start, s)]
    first = s.start
    if count > 1:
        steps = tuple(
            _put(part, Binary(op, _value(part), _shifted(vector, s, n * lanes), vector.dtype), s)
            for n, part in enumerate(parts)
        )
        out += _for(s, names, first, b.sub(s.stop, count * lanes - 1), count * lanes, steps)
        first = b.add(s.start, b.mul(b.truncdiv(extent, count * lanes), count * lanes))
    step = _put(parts[0], Binary(op, _value(parts[0]), vector, vector.dtype), s)
    if not _reaches(first, s.stop):
        out += _for(s, names, first, b.sub(s.stop, lanes - 1), lanes, (step,))
    total: Expr = _value(parts[0])
    for part in parts[1:]:
        total = Binary(op, total, _value(part), vector.dtype)
    old = _value(acc)
    out.append(_put(acc, Binary(op, old, Call(across, (total,), acc.dtype), acc.dtype), s))
    rest = b.add(s.start, b.mul(b.truncdiv(extent, lanes), lanes))
    if not _reaches(rest, s.stop):
        again = renamed((replace(s, start=rest),), names)
        out.append(again[0])
    return tuple(out)


def _is_long(extent: Expr, lanes: int) -> bool:
    if not isinstance(extent, Const):
        return True
    chunk = IN_FLIGHT * lanes
    return extent.value >= 2 * chunk or (extent.value == chunk)


def _reaches(start: Expr, stop: Expr) -> bool:
    return isinstance(start, Const) and isinstance(stop, Const) and start.value >= stop.value


def _value(of: Buffer) -> Load:
    return Load(of.name, (), of.dtype)


def _put(where: Buffer, value: Expr, s: For) -> Store:
    return Store(buffer=where.name, indices=(), value=value, span=s.span)


def _shifted(e: Expr, s: For, by: int) -> Expr:
    return e if by == 0 else substitute({s.var: b.add(s.var, by)})(e)


def _for(s: For, names: Names, start: Expr, stop: Expr, step: int, body: Body) -> Body:
    """A loop over a variable of its own."""
    var = names.var(s.var.name, s.var.dtype)
    inner = map_all_exprs(body, substitute({s.var: var}))
    return counted(var, start, stop, step, inner, s.span)
