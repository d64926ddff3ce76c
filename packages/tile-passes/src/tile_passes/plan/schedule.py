"""Search for the overlap of one loop's iterations: a stage for each statement and one order.

The steady body runs statement s of iteration i - stage(s), in `order`. Which asynchronous products
lag by an iteration is enumerated, all other statements take the least legal stage, each candidate
is ordered by list scheduling and timed by simulating a few iterations: bounds from resources alone
call most candidates equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    settled_edge: bool = False
    """Whether a product of the iteration before must settle before a newer one is started."""
    refills: frozenset[tuple[int, int]] = frozenset()
    """(product, statement): they conflict only as the statement overwrites what the product takes;
    such a product may settle while a newer one is in flight."""


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
        order = None if stage is None else edge_order(problem, stage)
        if stage is None or order is None or min(stage, default=0) > 0:
            continue
        found.setdefault((stage, order), timed(problem, stage, order))
    if not found and problem.settled_edge:
        return candidates(replace(problem, settled_edge=False))
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


def edge_order(problem: Problem, stage: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of `list_order`, with products held back that would be in flight while an older
    one, of the iteration before, settles; None where that cannot be.
    """
    held: frozenset[tuple[int, int]] = frozenset()
    while True:
        order = list_order(problem, stage, held)
        if order is None or not problem.settled_edge:
            return order
        late = late_settles(problem, order)
        if not late - held:
            return None if late else order
        held |= late


def late_settles(problem: Problem, order: tuple[int, ...]) -> frozenset[tuple[int, int]]:
    """(statement, product): the statement settles a product of the iteration before while the
    other, newer product of its own iteration is in flight."""
    flying: list[tuple[int, int]] = []
    found: set[tuple[int, int]] = set()
    for trip in (0, 1):
        for node in order:
            hit = [k for k, (g, _) in enumerate(flying) if node in problem.conflicts.get(g, ())]
            if hit:
                done, flying = flying[: hit[-1] + 1], flying[hit[-1] + 1 :]
                read = [x for x in done if (x[0], node) not in problem.refills]
                if any(since < trip for _, since in read):
                    found |= {(node, g) for g, since in flying if since == trip}
            if problem.nodes[node].asynchronous:
                flying.append((node, trip))
    return frozenset(found)


def list_order(
    problem: Problem, stage: tuple[int, ...], held: frozenset[tuple[int, int]] = frozenset()
) -> tuple[int, ...] | None:
    """An order of the steady body: products as early as they can start, then what waits for none in
    flight. Of each pair in `held` the first comes before the second.
    """
    count = len(problem.nodes)
    edges = {(s, t) for s, t, d in problem.deps if stage[t] + d == stage[s]} | held
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


@dataclass(frozen=True, slots=True)
class Window:
    """What stands in the order between a product's issue, or the settle before its own, and its
    settle: the statements that can run `beside` the `product`."""

    product: int
    beside: tuple[int, ...]


def windows(problem: Problem, order: tuple[int, ...]) -> tuple[Window, ...]:
    """The windows of the steady body, for each settle the newest product that it is for."""
    flying: list[int] = []
    found: dict[int, Window] = {}
    since: list[int] = []
    for node in (*order, *order):  # products of the trip before are in flight at first
        hit = [k for k, g in enumerate(flying) if node in problem.conflicts.get(g, ())]
        if hit:
            product = flying[hit[-1]]
            found[product] = Window(product, tuple(since))
            del flying[: hit[-1] + 1]
            since = []
        if problem.nodes[node].asynchronous:
            flying.append(node)
            since = []
        else:
            since.append(node)
    return tuple(w for w in found.values() if w.beside)


@dataclass(slots=True)
class _Group:
    """A group of warps on its way through the program."""

    now: float = 0.0
    at: int = 0
    slack: float = 0.0


def timed(problem: Problem, stage: tuple[int, ...], order: tuple[int, ...]) -> Schedule:
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
