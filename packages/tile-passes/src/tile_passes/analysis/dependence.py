"""Which statements of one body must keep their order, within an iteration and from one to the next.

Two statements depend on each other when both touch a buffer (or a scalar that one of them binds)
and at least one writes it, unless their regions are provably apart. The schedule search runs on the
plain tuples; the graph form is for reports and third parties.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Union

from tile_ir.core import Region
from tile_ir.expr import Binary, Const, Load, Var, free_vars
from tile_ir.opdef import Access, bodies
from tile_ir.ops import Assert, Break, Continue, Let, Print, View
from tile_ir.rewrite import bound_vars, effects, stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt

_NO_ALIASES: Mapping[str, str] = MappingProxyType({})

Place = Union[Region, Load, None]  # noqa: UP007 -- evaluated, and 3.10 cannot join these with `|`

_OUTPUT = "<host>"
"""Stands for what the host sees in order: printed lines and failed assertions."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """Statement `target` of iteration i + `distance` must come after statement `source` of
    iteration i.

    `kind` is flow (write, then read), anti (read, then write) or output (write, then write) of
    `buffer`.
    """

    source: int
    target: int
    distance: int
    kind: str
    buffer: str


@dataclass(frozen=True, slots=True)
class Touch:
    """What a statement with its nested bodies does to one buffer. None is an access to an unknown
    part.
    """

    reads: tuple[Place, ...]
    writes: tuple[Place, ...]


def aliases(body: Body) -> dict[str, str]:
    """One name for each memory that has several, for all of its names: views and what they view."""
    found: dict[str, str] = {}
    for stmt in walk(body):
        if isinstance(stmt, View):
            home = found.setdefault(stmt.source, stmt.source)
            found[stmt.buffer.name] = home
    return found


def touches(stmt: Stmt, homes: Mapping[str, str] = _NO_ALIASES) -> dict[str, Touch]:
    """The accesses of a statement, nested ones included, by buffer; scalars it binds or uses count
    as buffers. Names in `homes` stand for the memory they share with others.
    """
    reads: dict[str, list[Place]] = {}
    writes: dict[str, list[Place]] = {}
    bound: set[Var] = set()
    for inner in walk((stmt,)):
        for effect in effects(inner):
            name = homes.get(effect.buffer, effect.buffer)
            place = None if effect.buffer in homes else effect.region
            if effect.access & (Access.READ | Access.UPDATE):
                reads.setdefault(name, []).append(place)
            if effect.access & (Access.WRITE | Access.UPDATE):
                writes.setdefault(name, []).append(place)
        if isinstance(inner, (Print, Assert)):
            writes.setdefault(_OUTPUT, [])
        bound.update(bound_vars(inner))
    if isinstance(stmt, Let):
        writes.setdefault(stmt.var.name, [])
    used = {v.name for s in walk((stmt,)) for e in stmt_exprs(s) for v in free_vars(e)}
    for name in used - {v.name for v in bound}:
        reads.setdefault(name, [])
    names = dict.fromkeys([*reads, *writes])
    return {n: Touch(tuple(reads.get(n, ())), tuple(writes.get(n, ()))) for n in names}


def apart(a: Region | Load, b: Region | Load) -> bool:
    """Whether two accesses of one buffer certainly touch different elements, by constant distance
    on some axis.
    """
    for (start_a, size_a), (start_b, size_b) in zip(_box(a), _box(b), strict=True):
        gap = _difference(start_b, start_a)
        if gap is None:
            continue
        if size_a is not None and gap >= size_a:
            return True
        if size_b is not None and -gap >= size_b:
            return True
    return False


def _box(access: Region | Load) -> list[tuple[Expr, int | None]]:
    if isinstance(access, Region):
        return [(r.start, _constant(r.extent)) for r in access.ranges]
    return [(e, e.dtype.lanes) for e in access.indices]


def _constant(e: Expr) -> int | None:
    return int(e.value) if isinstance(e, Const) else None


def _difference(a: Expr, b: Expr) -> int | None:
    """a - b when both are the same expression up to an added constant."""
    base_a, add_a = _split(a)
    base_b, add_b = _split(b)
    return add_a - add_b if base_a is base_b else None


def _split(e: Expr) -> tuple[Expr | None, int]:
    if isinstance(e, Const):
        return None, int(e.value)
    if isinstance(e, Binary) and isinstance(e.b, Const) and e.op in ("add", "sub"):
        base, offset = _split(e.a)
        return base, offset + int(e.b.value) * (1 if e.op == "add" else -1)
    return e, 0


def _meet(a: tuple[Place, ...], b: tuple[Place, ...]) -> bool:
    """Whether any pair may overlap; an access without a place (a scalar) always does."""
    known = a and b and None not in a and None not in b
    return not known or any(x and y and not apart(x, y) for x in a for y in b)


def _pairs(body: Body, homes: Mapping[str, str]) -> list[dict[str, tuple[Touch, bool, bool]]]:
    return [
        {
            name: (t, _reads(s, name, t), _writes(s, name, t))
            for name, t in touches(s, homes).items()
        }
        for s in body
    ]


def _reads(stmt: Stmt, name: str, touch: Touch) -> bool:
    return bool(touch.reads) or (not touch.writes and not _binds(stmt, name))


def _writes(stmt: Stmt, name: str, touch: Touch) -> bool:
    return bool(touch.writes) or _binds(stmt, name)


def _binds(stmt: Stmt, name: str) -> bool:
    return name == _OUTPUT or (isinstance(stmt, Let) and stmt.var.name == name)


def dependences(
    body: Body, private: Iterable[str] = (), homes: Mapping[str, str] = _NO_ALIASES
) -> tuple[Dependence, ...]:
    """The dependences among the statements of a loop body.

    Carried dependences are given distance 1, the least: a schedule that keeps them keeps longer
    ones too. A carried dependence is dropped only where the regions are apart by constants in every
    iteration. Buffers in `private` have a slot of their own for each iteration, so nothing about
    them is carried.
    """
    private = frozenset(private)
    found: dict[Dependence, None] = {}
    parts = _pairs(body, homes)
    for i, first in enumerate(parts):
        for j, second in enumerate(parts):
            for name in first.keys() & second.keys():
                distance = 0 if i < j else 1
                if distance and (name in private or _fresh_scalar(body, name)):
                    continue
                for kind in _kinds(first[name], second[name]):
                    found[Dependence(i, j, distance, kind, name)] = None
    return tuple(found)


def _fresh_scalar(body: Body, name: str) -> bool:
    return any(isinstance(s, Let) and s.var.name == name for s in body)


def _kinds(a: tuple[Touch, bool, bool], b: tuple[Touch, bool, bool]) -> Iterable[str]:
    (first, a_reads, a_writes), (second, b_reads, b_writes) = a, b
    if a_writes and b_reads and _meet(first.writes, second.reads):
        yield "flow"
    if a_reads and b_writes and _meet(first.reads, second.writes):
        yield "anti"
    if a_writes and b_writes and _meet(first.writes, second.writes):
        yield "output"


def leaves_early(body: Body) -> bool:
    """Whether the loop over `body` may end an iteration before its last statement."""
    return any(
        isinstance(s, (Break, Continue)) or any(leaves_early(inner) for inner in bodies(s))
        for s in body
    )


def dependence_graph(body: Body, private: Iterable[str] = ()) -> Any:
    """The same as a `networkx.MultiDiGraph`: nodes are positions, edges carry distance, kind and
    buffer.
    """
    import networkx as nx  # 87 ms, and only reports want it

    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(body)))
    for d in dependences(body, private):
        graph.add_edge(d.source, d.target, distance=d.distance, kind=d.kind, buffer=d.buffer)
    return graph
