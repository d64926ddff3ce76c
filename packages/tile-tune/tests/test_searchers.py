"""The strategies on objectives whose best member is known, with noise and with failures."""

import math
import random

import pytest

from tile_ir.plugin import discover, load, resolve
from tile_tune import Configuration, Space, Trial
from tile_tune.searchers.halving import Halving

NAMES = ("evolutionary", "exhaustive", "guided", "halving", "random")


def tiles():
    return Space.product(
        {
            "m": [8, 16, 32, 64, 128],
            "n": [8, 16, 32, 64, 128],
            "k": [16, 32, 64, 128],
            "kind": ["row", "column"],
        }
    )


def time_of(c):
    """A valley at m=64, n=32, k=64, row: like reuse against capacity. Milliseconds."""
    a = c.arguments
    far = (math.log2(a["m"] / 64), math.log2(a["n"] / 32), 0.7 * math.log2(a["k"] / 64))
    return (1.0 + 0.12 * sum(x * x for x in far)) * (1.3 if a["kind"] == "column" else 1.0)


BEST = Configuration.of({"m": 64, "n": 32, "k": 64, "kind": "row"})


def search(name, space, budget, noise=0.01, seed=0, broken=lambda c: False):
    """Run a strategy against `time_of`; the trials by configuration, and all timings made."""
    searcher = resolve(load("tile.tuners", name).factory)(space, seed)
    rng = random.Random(seed)
    trials, timings = {}, 0
    while True:
        turn = searcher.ask(budget - len(trials))
        if turn is None:
            return trials, timings
        told = []
        for c in turn.configurations:
            old = trials[c].samples if c in trials else ()
            if broken(c):
                trials[c] = Trial(configuration=c, status="crashed", reason="SIGSEGV")
            else:
                new = [time_of(c) * (1 + abs(rng.gauss(0, noise))) for _ in range(turn.samples)]
                timings += len(new)
                trials[c] = Trial(configuration=c, samples=(*old, *new))
            told.append(trials[c])
        searcher.tell(told)


def test_the_strategies_are_installed_by_entry_point():
    assert tuple(e.name for e in discover("tile.tuners") if e.distribution == "tile-tune") == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_never_more_candidates_than_trials_and_none_that_is_no_member(name):
    trials, _ = search(name, tiles(), 40)
    assert 0 < len(trials) <= 40
    assert {*trials} <= {*tiles().members}


@pytest.mark.parametrize("name", NAMES)
def test_a_space_of_three_is_searched_to_its_end(name):
    space = Space.of([{"m": m, "n": 32, "k": 64, "kind": "row"} for m in (16, 64, 32)])
    trials, _ = search(name, space, 50)
    best = min(trials.values(), key=lambda t: t.median)
    assert best.configuration == BEST


@pytest.mark.parametrize("name", NAMES)
def test_failures_are_no_dead_end(name):
    def broken(c):
        return c.arguments["m"] == 64 or c.arguments["kind"] == "column"

    trials, _ = search(name, tiles(), 120, broken=broken)
    best = min(trials.values(), key=lambda t: t.median)
    assert best.median < 1.3  # the best of what works is 1.12
    everything, _ = search(name, tiles(), 30, broken=lambda c: True)
    assert all(not t.is_measured for t in everything.values())


@pytest.mark.parametrize("seed", range(4))
def test_guided_finds_the_valley_with_a_fifth_of_the_trials(seed):
    trials, _ = search("guided", tiles(), 40, seed=seed)
    best = min(trials.values(), key=lambda t: t.median)
    assert time_of(best.configuration) < 1.03


def test_guided_stops_when_nothing_is_to_be_gained():
    trials, _ = search("guided", tiles(), 200, noise=0.001)
    assert len(trials) < 100


def test_evolution_beats_chance():
    def best(name, seed):
        trials, _ = search(name, tiles(), 48, seed=seed)
        return min(time_of(c) for c in trials)

    evolved = [best("evolutionary", s) for s in range(6)]
    drawn = [best("random", s) for s in range(6)]
    assert sum(evolved) < sum(drawn)
    assert max(evolved) < 1.15


def test_halving_spends_its_timings_on_those_that_may_be_best():
    trials, timings = search("halving", tiles(), 200, noise=0.05)
    assert len(trials) == 200
    most = max(len(t.samples) for t in trials.values())
    finalists = [t for t in trials.values() if len(t.samples) == most]
    assert min(finalists, key=lambda t: t.median).configuration == BEST
    assert len(finalists) <= 100
    assert min(len(t.samples) for t in trials.values()) == 3
    assert timings < 200 * 7


def test_halving_keeps_what_it_cannot_tell_apart():
    space = Space.product({"m": range(8)})
    searcher = Halving(space)
    turn = searcher.ask(8)
    told = [
        Trial(configuration=c, samples=(1.0, 1.5, 2.0) if c.arguments["m"] < 6 else (9.0, 9.1, 9.2))
        for c in turn.configurations
    ]
    searcher.tell(told)
    assert {c.arguments["m"] for c in searcher.alive} < {0, 1, 2, 3, 4, 5}
    assert len(searcher.alive) == 4


def test_halving_drops_what_is_slower_for_sure():
    searcher = Halving(Space.product({"m": range(8)}))
    turn = searcher.ask(8)
    searcher.tell(
        [Trial(configuration=c, samples=(1.0,) * 9) for c in turn.configurations[:2]]
        + [Trial(configuration=c, samples=(2.0,) * 9) for c in turn.configurations[2:]]
    )
    assert searcher.alive == turn.configurations[:2]
