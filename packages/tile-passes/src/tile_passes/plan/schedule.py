"""Search for the overlap of one loop's iterations: a stage for each statement and one order.

The steady body runs statement s of iteration i - stage(s), in `order`. Which asynchronous products
lag by an iteration is enumerated, all other statements take the least legal stage, each candidate
is ordered by list scheduling and timed by simulating a few iterations: bounds from resources alone
call most candidates equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

Dep = tuple[int, int, int]
"""(source, target, distance): target of iteration i + distance comes after source of iteration
i.
"""

MOST_CHOICES = 5
"""Asynchronous products whose stage is enumerated; more than 32 candidates never paid."""

_ITERATIONS = 8
_ISSUE_CYCLES = 8
"""Cycles that a group is busy with starting an asynchronous operation."""


@dataclass(frozen=True, slots=True)
class Node:
    """A statement of the body: its cycles on the matrix engine (`asynchronous`) or on the vector
    units.
    """

    name: str
    cycles: float
    asynchronous: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """One loop body. `conflicts[g]` are the statements before which the product g must have
    settled.
    """

    nodes: tuple[Node, ...]
    deps: tuple[Dep, ...]
    conflicts: dict[int, frozenset[int]]
    groups: int = 1
    settle_latency: float = 0.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """A candidate: stages, order, modelled cycles per iteration, and cycles between completion and
    use.
    """

    stage: tuple[int, ...]
    order: tuple[int, ...]
    cycles: float
    slack: float

    @property
    def span(self) -> int:
        """The number of stages less one."""
        return max(self.stage, default=0)


def candidates(problem: Problem) -> tuple[Schedule, ...]:
    """Every legal schedule considered, best first: least cycles; within 3 percent, most slack, then
    fewest stages.
    """
    free = [i for i, n in enumerate(problem.nodes) if n.asynchronous][:MOST_CHOICES]
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], Schedule] = {}
    for choice in product((0, 1), repeat=len(free)):
        stage = least_stages(problem, dict(zip(free, choice, strict=True)))
        order = None if stage is None else list_order(problem, stage)
        if stage is None or order is None or min(stage, default=0) > 0:
            continue
        found.setdefault((stage, order), _timed(problem, stage, order))
    best = min((s.cycles for s in found.values()), default=0.0)
    return tuple(
        sorted(
            found.values(),
            key=lambda s: (
                s.cycles > best * 1.03,
                s.cycles if s.cycles > best * 1.03 else 0,
                -s.slack,
                s.span,
            ),
        )
    )


def least_stages(problem: Problem, fixed: dict[int, int]) -> tuple[int, ...] | None:
    """The least stages that keep every dependence with those in `fixed` given, or None."""
    stage = [fixed.get(i, 0) for i in range(len(problem.nodes))]
    for _ in range(len(stage) + 1):
        moved = False
        for source, target, distance in problem.deps:
            least = stage[source] - distance
            if stage[target] < least:
                if target in fixed:
                    return None
                stage[target], moved = least, True
        if not moved:
            return tuple(stage)
    return None


def broken(problem: Problem, stage: tuple[int, ...], order: tuple[int, ...]) -> Dep | None:
    """A dependence that a schedule does not keep, or None."""
    place = {node: i for i, node in enumerate(order)}
    for source, target, distance in problem.deps:
        later = stage[target] + distance - stage[source]
        if later < 0 or (later == 0 and place[source] >= place[target]):
            return source, target, distance
    return None


def list_order(problem: Problem, stage: tuple[int, ...]) -> tuple[int, ...] | None:
    """An order of the steady body: products as early as they can start, then what waits for none in
    flight.
    """
    count = len(problem.nodes)
    edges = {(s, t) for s, t, d in problem.deps if stage[t] + d == stage[s]}
    if any(s == t for s, t in edges):
        return None
    after: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for s, t in edges:
        after[s].append(t)
        missing[t] += 1
    weight = _critical(problem, after)
    ready = [i for i in range(count) if not missing[i]]
    flying: list[int] = []
    out: list[int] = []
    while ready:
        chosen = min(ready, key=lambda i: _rank(problem, i, flying, weight[i]))
        ready.remove(chosen)
        out.append(chosen)
        hit = [k for k, g in enumerate(flying) if chosen in problem.conflicts.get(g, ())]
        del flying[: max(hit, default=-1) + 1]
        if problem.nodes[chosen].asynchronous:
            flying.append(chosen)
        for t in after[chosen]:
            missing[t] -= 1
            if not missing[t]:
                ready.append(t)
    return tuple(out) if len(out) == count else None


def _rank(
    problem: Problem, i: int, flying: list[int], weight: float
) -> tuple[bool, float, int, int]:
    if problem.nodes[i].asynchronous:
        return (False, -weight, 0, i)
    newest = max((k for k, g in enumerate(flying) if i in problem.conflicts.get(g, ())), default=-1)
    return (True, 0.0, newest, i)


def _critical(problem: Problem, after: list[list[int]]) -> list[float]:
    """The longest way from each node to the end of the body, in cycles."""
    found: dict[int, float] = {}

    def length(i: int) -> float:
        if i not in found:
            found[i] = 0.0  # cuts cycles, which the caller reports
            found[i] = problem.nodes[i].cycles + max((length(t) for t in after[i]), default=0.0)
        return found[i]

    return [length(i) for i in range(len(problem.nodes))]


@dataclass(slots=True)
class _Group:
    """A group of warps on its way through the program."""

    now: float = 0.0
    at: int = 0
    slack: float = 0.0


def _timed(problem: Problem, stage: tuple[int, ...], order: tuple[int, ...]) -> Schedule:
    """Run the groups in turn on one matrix engine and one vector unit, both in order of arrival."""
    span = max(stage, default=0)
    program = [
        node
        for instance in range(_ITERATIONS + span)
        for node in order
        if 0 <= instance - stage[node] < _ITERATIONS
    ]
    groups = [_Group() for _ in range(problem.groups)]
    flying: list[list[tuple[int, float]]] = [[] for _ in groups]
    engine = unit = 0.0
    while any(g.at < len(program) for g in groups):
        which = min(
            (k for k, g in enumerate(groups) if g.at < len(program)), key=lambda k: groups[k].now
        )
        g, mine = groups[which], flying[which]
        node = program[g.at]
        g.at += 1
        _settle(problem, g, mine, node)
        share = problem.nodes[node].cycles / problem.groups
        if problem.nodes[node].asynchronous:
            engine = max(engine, g.now) + share
            mine.append((node, engine))
            g.now += _ISSUE_CYCLES
        else:
            g.now = unit = max(unit, g.now) + share
    end = max([engine, *(g.now for g in groups)])
    return Schedule(stage, order, end / _ITERATIONS, sum(g.slack for g in groups))


def _settle(problem: Problem, g: _Group, flying: list[tuple[int, float]], node: int) -> None:
    """Wait for the newest operation in flight that `node` conflicts with, and so for all older
    ones.
    """
    hit = [k for k, (op, _) in enumerate(flying) if node in problem.conflicts.get(op, ())]
    if not hit:
        return
    end = flying[hit[-1]][1]
    g.slack += max(0.0, g.now - end)
    g.now = max(g.now, end) + problem.settle_latency
    del flying[: hit[-1] + 1]
