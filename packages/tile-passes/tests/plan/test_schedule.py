"""The schedule search on small problems whose best answer is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tile_passes.plan.schedule import (
    Node,
    Problem,
    broken,
    candidates,
    late_settles,
    least_stages,
    list_order,
)


def problem(deps: tuple[tuple[int, int, int], ...], *nodes: tuple[float, bool]) -> Problem:
    made = tuple(Node(f"s{i}", cycles, engine) for i, (cycles, engine) in enumerate(nodes))
    conflicts = {
        i: frozenset(t for s, t, _ in deps if s == i and not made[t].asynchronous)
        for i, n in enumerate(made)
        if n.asynchronous
    }
    return Problem(made, deps, conflicts, 1, 60.0)


ATTENTION = problem(
    ((0, 1, 0), (1, 2, 0), (2, 3, 0), (1, 0, 1), (2, 0, 1), (3, 2, 1), (3, 3, 1)),
    (512, True),
    (710, False),
    (10, False),
    (512, True),
)
"""A product, vector work on its result, packing it, a product of that; each reuses its
registers."""


def test_the_second_product_lags_when_vector_work_is_long() -> None:
    best = candidates(ATTENTION)[0]
    assert best.stage == (0, 0, 0, 1)
    assert best.order == (0, 3, 1, 2)
    assert best.cycles < 512 + 710 + 512


def test_a_lone_product_is_not_staged() -> None:
    best = candidates(problem(((0, 0, 1),), (256, True)))[0]
    assert (best.stage, best.order, best.span) == ((0,), (0,), 0)
    assert best.cycles == 256


def test_least_stages_follow_dependences() -> None:
    chain = problem(((0, 1, 0), (1, 2, 0), (2, 3, 1)), *[(1.0, False)] * 4)
    assert least_stages(chain, {0: 1}) == (1, 1, 1, 0)
    assert least_stages(chain, {0: 1, 2: 0}) is None


def test_broken_names_a_dependence() -> None:
    assert broken(ATTENTION, (0, 0, 0, 0), (0, 1, 2, 3)) is None
    assert broken(ATTENTION, (0, 0, 0, 0), (1, 0, 2, 3)) == (0, 1, 0)
    assert broken(ATTENTION, (0, 0, 0, 2), (0, 1, 2, 3)) == (3, 2, 1)


edges = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 1)), max_size=8
).map(lambda found: tuple((s, t, d if s < t else 1) for s, t, d in found))


@given(edges, st.lists(st.booleans(), min_size=5, max_size=5))
def test_every_candidate_keeps_every_dependence(
    deps: tuple[tuple[int, int, int], ...], engines: list[bool]
) -> None:
    made = problem(deps, *((float(10 + i), e) for i, e in enumerate(engines)))
    found = candidates(made)
    assert found
    for schedule in found:
        assert broken(made, schedule.stage, schedule.order) is None


@given(edges)
def test_an_order_is_found_whenever_there_is_one(deps: tuple[tuple[int, int, int], ...]) -> None:
    made = problem(deps, *[(1.0, False)] * 5)
    stage = (0,) * 5
    exists = any(broken(made, stage, p) is None for p in permutations(range(5)))
    assert (list_order(made, stage) is not None) == exists


STATE = problem(
    ((0, 1, 0), (1, 2, 0), (2, 0, 1), (3, 4, 0), (4, 3, 1), (2, 2, 1)),
    (10, False),
    (20, False),
    (256, True),
    (256, True),
    (40, False),
)
"""A state is packed, put away, and added to by a product; beside it a product of its own."""


def test_a_product_that_crosses_the_edge_settles_before_a_newer_one_is_started() -> None:
    free = candidates(STATE)[0]
    assert (0, 3) in late_settles(STATE, free.order)
    strict = replace(STATE, settled_edge=True)
    for schedule in candidates(strict):
        assert late_settles(strict, schedule.order) == frozenset()
        assert broken(strict, schedule.stage, schedule.order) is None


SETS = problem(
    ((0, 1, 0), (2, 3, 0), (1, 0, 1), (3, 2, 1), (1, 3, 0)),
    (200, False),
    (200, True),
    (200, False),
    (200, True),
)
"""Two sets of registers, each filled and then taken by a product that adds to one result."""


def test_register_sets_take_turns_over_a_strict_edge() -> None:
    strict = replace(SETS, settled_edge=True)
    taken = replace(strict, refills=frozenset({(1, 0), (3, 2)}))
    best = candidates(taken)[0]
    assert (best.stage, best.order) == ((0, 0, 0, 0), (0, 1, 2, 3))
    assert late_settles(taken, best.order) == frozenset()
    assert late_settles(strict, best.order) == {(2, 1)}
    assert best.cycles < 0.75 * (200 + 200 + 200 + 200)
    assert best.cycles < candidates(strict)[0].cycles


@given(edges, st.lists(st.booleans(), min_size=5, max_size=5))
def test_a_strict_edge_leaves_a_schedule(
    deps: tuple[tuple[int, int, int], ...], engines: list[bool]
) -> None:
    made = problem(deps, *((float(10 + i), e) for i, e in enumerate(engines)))
    found = candidates(replace(made, settled_edge=True))
    assert found
    for schedule in found:
        assert broken(made, schedule.stage, schedule.order) is None
