"""From where to where each buffer of a body holds a value that is still needed, and which buffers
cannot share memory.

Positions number the statements of the body in program order, nested ones included. A buffer used
inside a loop but declared outside of it lives through the whole loop when an iteration may read
what an earlier one wrote. All iterations of a parallel loop run at once, so what any of its
statements touches lives through all of it; so it does in a loop whose iterations overlap, as the
caller says. A product in flight reads its operands until something waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_ir.core import Region
from tile_ir.expr import Const
from tile_ir.opdef import Access, bodies
from tile_ir.ops import Alloc, For, Gemm, If, Parallel, View, While
from tile_ir.rewrite import all_effects, effects, walk

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt


@dataclass(frozen=True, slots=True)
class Interval:
    """Positions `first` to `last`, both included."""

    first: int
    last: int

    def meets(self, other: Interval) -> bool:
        """Whether the two have a position in common."""
        return self.first <= other.last and other.first <= self.last

    def hull(self, other: Interval) -> Interval:
        """The least interval that holds both."""
        return Interval(min(self.first, other.first), max(self.last, other.last))


class _Scan:
    """Numbers statements and widens the intervals of buffers that a loop carries."""

    def __init__(
        self, buffers: Mapping[str, Buffer], mixed: Container[int], issued: Container[int]
    ) -> None:
        self.buffers, self.mixed, self.issued = buffers, mixed, issued
        self.at = 0
        self.found: dict[str, Interval] = {}
        self.homes: dict[str, str] = {}
        self.flying: list[Gemm] = []

    def touch(self, name: str, where: Interval) -> None:
        name = self.home(name)
        old = self.found.get(name)
        self.found[name] = where if old is None else old.hull(where)

    def home(self, name: str) -> str:
        return self.homes.get(name, name)

    def body(self, body: Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        first = self.at
        self.at += 1
        if isinstance(stmt, View):
            self.homes[stmt.buffer.name] = self.home(stmt.source)
        self.land(stmt, first)
        for effect in effects(stmt):
            self.touch(effect.buffer, Interval(first, first))
        before = set(map(id, self.flying))
        for inner in bodies(stmt):
            self.body(inner)
        whole = Interval(first, self.at - 1)
        if isinstance(stmt, (For, While)):
            self.repeat(stmt, whole, before)
        if isinstance(stmt, Parallel) or id(stmt) in self.mixed:
            for effect in all_effects((stmt,)):
                self.touch(effect.buffer, whole)
        if isinstance(stmt, Gemm) and id(stmt) in self.issued:
            self.flying.append(stmt)

    def repeat(self, loop: For | While, whole: Interval, before: Container[int]) -> None:
        """What one iteration leaves to the next: values, and products that were not in flight
        `before` the loop, which meet the next one's statements."""
        for name in carried(loop, self.buffers):
            self.touch(name, whole)
        for product in self.flying:
            if id(product) not in before:
                self.hold(product, whole)

    def land(self, stmt: Stmt, at: int) -> None:
        """Products in flight read their operands until now; those whose result `stmt` uses settle
        before it."""
        for product in self.flying:
            self.hold(product, Interval(at - 1, at - 1))
        self.flying = [p for p in self.flying if not self.settles(stmt, p)]

    def hold(self, product: Gemm, where: Interval) -> None:
        for operand in (product.a, product.b):
            self.touch(operand.buffer, where)

    def settles(self, stmt: Stmt, product: Gemm) -> bool:
        """Whether it certainly has to wait for a product in flight."""
        if isinstance(stmt, Gemm) and id(stmt) in self.issued:
            return self.home(product.c.buffer) in {self.home(r.buffer) for r in (stmt.a, stmt.b)}
        return not isinstance(stmt, Alloc) and any(
            self.home(e.buffer) == self.home(product.c.buffer) for e in effects(stmt)
        )


def carried(loop: Stmt, buffers: Mapping[str, Buffer]) -> frozenset[str]:
    """Buffers declared outside a loop of which an iteration may read what an earlier one wrote.

    A buffer is not carried when the first statement of the iteration that touches it overwrites all
    of it.
    """
    (body,) = bodies(loop)
    own = {s.buffer.name for s in walk(body) if isinstance(s, Alloc)}
    first: dict[str, Stmt] = {}
    for stmt in body:
        for inner in walk((stmt,)):
            for effect in effects(inner):
                first.setdefault(effect.buffer, stmt)
    return frozenset(
        name
        for name, stmt in first.items()
        if name not in own and not _overwrites(stmt, name, buffers)
    )


def _overwrites(stmt: Stmt, name: str, buffers: Mapping[str, Buffer]) -> bool:
    if isinstance(stmt, (If, For, While, Parallel)):
        return False
    mine = [e for e in effects(stmt) if e.buffer == name]
    if any(e.access != Access.WRITE for e in mine):
        return False
    if name not in buffers:
        return False
    shape = buffers[name].shape
    return any(
        isinstance(e.region, Region)
        and all(
            isinstance(r.start, Const) and r.start.value == 0 and r.extent is n
            for r, n in zip(e.region.ranges, shape, strict=True)
        )
        for e in mine
    )


def live_ranges(
    body: Body,
    buffers: Mapping[str, Buffer],
    mixed: Container[int] = (),
    issued: Container[int] = (),
) -> dict[str, Interval]:
    """The interval of each buffer that `body` touches, by name; a view counts as the buffer that it
    views.

    `mixed` has the `id` of loops whose statements run in another order, or beside those of another
    iteration; `issued` that of products that run on after they were issued.
    """
    scan = _Scan(buffers, mixed, issued)
    scan.body(body)
    for product in scan.flying:
        scan.hold(product, Interval(scan.at, scan.at))
    return scan.found


def interferences(ranges: Mapping[str, Interval]) -> tuple[tuple[str, str], ...]:
    """The pairs of buffers whose intervals meet, each pair once, in order of name."""
    names = sorted(ranges)
    return tuple(
        (a, b) for i, a in enumerate(names) for b in names[i + 1 :] if ranges[a].meets(ranges[b])
    )


def interference_graph(ranges: Mapping[str, Interval]) -> Any:
    """The same as a `networkx.Graph` over buffer names."""
    import networkx as nx  # 87 ms, and only reports want it

    graph = nx.Graph()
    graph.add_nodes_from(ranges)
    graph.add_edges_from(interferences(ranges))
    return graph
