"""Points of a loop's body that the compiler's scheduler may not move work across, and loops that it
must leave loops.

A tile that comes through registers is loaded an iteration ahead. Its loads have to be started
before the products of the trip, and waited for after these were started, or nothing hides how long
they take; nothing in the program forbids the scheduler to move them together.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const, free_vars, loads
from tile_ir.ops import Atom, For, Store
from tile_ir.rewrite import stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec

__all__ = [
    "LOADS_STARTED",
    "PRODUCTS_STARTED",
    "brings_operands",
    "fills_registers",
    "in_order",
    "stays_a_loop",
    "steps_at_once",
]

LOADS_STARTED = "tile_loads_started"
PRODUCTS_STARTED = "tile_products_started"


def in_order(body: Body, buffers: Mapping[str, Buffer]) -> Iterator[tuple[str, Body]]:
    """The parts of a loop's body, each with the function of the prelude that stands before it; the
    first one has none.
    """
    kinds = [_kind(s, buffers) for s in body]
    if "fetch" not in kinds:
        yield "", body
        return
    start, point, before = 0, "", ""
    for i, kind in enumerate(kinds):
        found = _POINTS.get((before, kind), "")
        if found:
            yield point, body[start:i]
            start, point = i, found
        before = kind or before
    yield point, body[start:]


_POINTS = {("fetch", "product"): LOADS_STARTED, ("product", "deposit"): PRODUCTS_STARTED}


def brings_operands(loop: For, buffers: Mapping[str, Buffer]) -> bool:
    """Whether the trips of an unrolled loop are a product's steps: each reads operands from shared
    memory into registers and multiplies them.
    """
    if loop.kind != "unroll" or _kind(loop, buffers) != "product":
        return False
    stores = (s for part in loop.body for s in walk((part,)) if isinstance(s, Store))
    return any(_scopes(s, buffers) == ("shared", "local") for s in stores)


_MOST_STEPS = 8
_STEPS_AT_ONCE = 4


def steps_at_once(loop: For, buffers: Mapping[str, Buffer]) -> int:
    """How many steps of a product stand side by side; 0: all of them.

    The operands of many steps are read long before they are used, and fill the registers, whatever
    stands between the steps. Steps that take registers by their number have to stand all.
    """
    bounds = (loop.start, loop.stop, loop.step)
    if not all(isinstance(e, Const) for e in bounds):
        return 0
    steps = len(range(*(int(e.value) for e in bounds if isinstance(e, Const))))
    inside = list(walk(loop.body))
    stored = (
        i for s in inside if isinstance(s, Store) and _local(s.buffer, buffers) for i in s.indices
    )
    loaded = (
        i
        for s in inside
        for e in stmt_exprs(s)
        for x in loads(e)
        if _local(x.buffer, buffers)
        for i in x.indices
    )
    regions = (r for s in inside if isinstance(s, Atom) for r in (s.a, s.b, s.c))
    starts = (x.start for r in regions if _local(r.buffer, buffers) for x in r.ranges)
    numbered = any(loop.var in free_vars(e) for e in (*stored, *loaded, *starts))
    return 0 if numbered or steps <= _MOST_STEPS or steps % _STEPS_AT_ONCE else _STEPS_AT_ONCE


def _local(name: str, buffers: Mapping[str, Buffer]) -> bool:
    return buffers[name].scope == "local"


_REGISTER_BITS = 32


def fills_registers(buffers: Iterable[Buffer], spec: TargetSpec) -> bool:
    """Whether the arrays of a thread leave no registers for the operands of a second step."""
    if spec.registers is None:
        return False
    bits = sum(
        prod(int(n.value) for n in b.shape if isinstance(n, Const)) * b.dtype.storage_bits
        for b in buffers
        if b.scope == "local"
    )
    return bits > _REGISTER_BITS * (spec.registers.per_thread - spec.registers.reserve)


_FEW_TRIPS = 8
"""A loop of more is not unrolled completely."""
_FEW_SUMS = 64
"""Registers of accumulators; a loop over products with more of them needs its last trip peeled to
fit, which is not done to loops that stay loops."""


def stays_a_loop(loop: For, buffers: Mapping[str, Buffer]) -> bool:
    """Whether a loop over products must not be unrolled completely.

    The products of its last trip would sink to where their sums are used; their operands then fill
    the registers.
    """
    bounds = (loop.start, loop.stop, loop.step)
    if loop.kind == "unroll" or not all(isinstance(e, Const) for e in bounds):
        return False
    trips = len(range(*(int(e.value) for e in bounds if isinstance(e, Const))))
    sums = {s.c.buffer for s in walk(loop.body) if isinstance(s, Atom)}
    shapes = (buffers[name].shape for name in sums)
    count = sum(prod(int(n.value) for n in shape if isinstance(n, Const)) for shape in shapes)
    return bool(sums) and trips <= _FEW_TRIPS and count <= _FEW_SUMS


def _kind(s: Stmt, buffers: Mapping[str, Buffer]) -> str:
    """What a statement does of a staged copy: `fetch` loads global memory into registers, `deposit`
    stores registers to shared memory, `product` has matrix instructions; else empty.
    """
    inside = list(walk((s,)))
    if any(isinstance(t, Atom) for t in inside):
        return "product"
    pairs = {_scopes(t, buffers) for t in inside if isinstance(t, Store) and t.indices}
    if pairs == {("global", "local")}:
        return "fetch"
    return "deposit" if pairs and pairs <= {("local", "shared"), ("local", "local")} else ""


def _scopes(s: Store, buffers: Mapping[str, Buffer]) -> tuple[str, str]:
    """Where the values of a store come from, and where they go."""
    sources = {buffers[e.buffer].scope for e in loads(s.value) if e.indices}
    return (sources.pop() if len(sources) == 1 else "", buffers[s.buffer].scope)
