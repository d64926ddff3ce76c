"""The simulated core: engines in order of arrival, agents that wait, and agreement with the times
by which the planner chooses a schedule."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tile_passes.model.machine import Agent, Core, Event, wait_for
from tile_passes.plan.schedule import Node, Problem, timed


def agent_of(core, lane, now, steps):
    made = Agent(lane, now)
    made.run = steps(core, made)
    core.start(made)
    return made


def use(engine, cycles, times=1):
    def steps(core, agent):
        for _ in range(times):
            yield None
            _, agent.now = core.serve(engine, agent.now, cycles)

    return steps


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 40)), min_size=1, max_size=6))
@settings(derandomize=True, max_examples=40, deadline=None)
def test_an_engine_never_does_two_things_at_once(requests):
    core = Core()
    for i, (at, cycles) in enumerate(requests):
        agent_of(core, str(i), float(at), use("matrix", float(cycles)))
    assert core.run(1000)
    assert core.busy["matrix"] == sum(c for _, c in requests)
    first, total = min(a for a, _ in requests), sum(c for _, c in requests)
    assert core.end >= first + total
    assert core.end <= max(a for a, _ in requests) + total


def test_who_is_behind_in_time_is_served_first():
    core = Core()
    late = agent_of(core, "late", 10.0, use("vector", 5.0))
    early = agent_of(core, "early", 1.0, use("vector", 20.0))
    assert core.run(100)
    assert (early.now, late.now) == (21.0, 26.0)


def test_waits_end_with_their_event_and_are_told():
    core, event = Core(), Event()
    core.recorded = {"consumer"}

    def consumer(core, agent):
        yield from wait_for(core, agent, event, "no data", None)

    def producer(core, agent):
        yield None
        core.happens(event, 70.0)

    waiting = agent_of(core, "consumer", 0.0, consumer)
    agent_of(core, "producer", 3.0, producer)
    assert core.run(100)
    assert waiting.now == 70.0
    assert core.waited == {"no data": 70.0}
    assert [(s.label, s.start, s.end) for s in core.spans] == [("no data", 0.0, 70.0)]


def test_an_event_that_never_happens_is_noticed():
    core = Core()

    def steps(core, agent):
        yield from wait_for(core, agent, Event(), "nobody", None)

    agent_of(core, "stuck", 0.0, steps)
    assert not core.run(100)


@given(st.integers(1, 4), st.integers(40, 400), st.integers(1, 3))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_groups_on_one_unit_take_as_long_as_the_planner_says(nodes, cycles, groups):
    problem = Problem(
        nodes=tuple(Node(f"v{i}", float(cycles), asynchronous=False) for i in range(nodes)),
        deps=(),
        conflicts={},
        groups=groups,
    )
    order = tuple(range(nodes))
    planned = timed(problem, (0,) * nodes, order)
    core = Core()
    for g in range(groups):
        agent_of(core, str(g), 0.0, use("vector", cycles / groups, times=8 * nodes))
    assert core.run(10_000)
    assert abs(core.end / 8 - planned.cycles) < 1e-6 * planned.cycles
