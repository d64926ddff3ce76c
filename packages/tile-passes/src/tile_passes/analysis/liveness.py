"""From where to where each buffer of a body holds a value that is still needed, and which buffers
cannot share memory.

Positions number the statements of the body in program order, nested ones included. A buffer used
inside a loop but declared outside of it lives through the whole loop when an iteration may read
what an earlier one wrote. All iterations of a parallel loop run at once, so what any of its
statements touches lives through all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_ir.core import Region
from tile_ir.expr import Const
from tile_ir.opdef import Access, bodies
from tile_ir.ops import Alloc, For, If, Parallel, View, While
from tile_ir.rewrite import effects, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers
        self.at = 0
        self.found: dict[str, Interval] = {}
        self.homes: dict[str, str] = {}

    def touch(self, name: str, where: Interval) -> None:
        name = self.homes.get(name, name)
        old = self.found.get(name)
        self.found[name] = where if old is None else old.hull(where)

    def body(self, body: Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        first = self.at
        self.at += 1
        if isinstance(stmt, View):
            self.homes[stmt.buffer.name] = self.homes.get(stmt.source, stmt.source)
        for effect in effects(stmt):
            self.touch(effect.buffer, Interval(first, first))
        for inner in bodies(stmt):
            self.body(inner)
        whole = Interval(first, self.at - 1)
        if isinstance(stmt, (For, While)):
            for name in carried(stmt, self.buffers):
                self.touch(name, whole)
        if isinstance(stmt, Parallel):
            for within in walk((stmt,)):
                for effect in effects(within):
                    self.touch(effect.buffer, whole)


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


def live_ranges(body: Body, buffers: Mapping[str, Buffer]) -> dict[str, Interval]:
    """The interval of each buffer that `body` touches, by name; a view counts as the buffer that it
    views.
    """
    scan = _Scan(buffers)
    scan.body(body)
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
