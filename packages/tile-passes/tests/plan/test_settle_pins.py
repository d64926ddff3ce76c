"""Results pinned before a wait: where the description asks for it, and only when wished."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.ops import Pin
from tile_ir.rewrite import walk
from tile_ir.target.load import Table
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.plan.schedule import Node, Problem, Window, windows
from tile_passes.registry import builtin

EARLY = replace(toy_spec("async"), hints=Table({"pin": "never_taken_store"}))
"""A machine whose compiler moves waits."""
KEY = "attn.j.pin"


def made(programs: Any, pins: Any = None, target: Any = EARLY) -> tuple[Any, Any]:
    fn = parse_function(programs.source("attention", stages=2))
    cx = PassContext(target=target, pins=pins or {})
    return fn, run_pipeline(device_pipeline(), State(function=fn), cx).state


def test_a_pin_is_decided_where_a_product_lags_and_is_off(programs: Any) -> None:
    _, state = made(programs)
    decision = state.plan.find(KEY)
    assert (decision.value, decision.by) == ((), "model")
    early, kept = decision.candidates
    assert (early.value, kept.value) == ((), ("parallel:l",))
    assert early.cost > kept.cost
    assert "pin " not in print_function(state.function)


def test_without_the_hint_there_is_nothing_to_decide(programs: Any) -> None:
    _, state = made(programs, target=toy_spec("async"))
    assert state.plan.find("attn.j.stage") is not None
    assert state.plan.find(KEY) is None


def test_a_pinned_result_stands_before_the_wait_for_the_product_in_flight(programs: Any) -> None:
    fn, state = made(programs, {KEY: ["parallel:l"]})
    lines = [line.strip() for line in print_function(state.function).splitlines()]
    found = [i for i, line in enumerate(lines) if line.startswith("pin ")]
    assert found
    for at in found:
        assert lines[at].startswith("pin l[")
        assert lines[at].endswith("before mma")
    assert any(line.startswith("settle") for line in lines[found[-1] : found[-1] + 2]), lines[
        found[-1] : found[-1] + 3
    ]
    rng = np.random.default_rng(2)
    q, k, v = (rng.integers(-2, 3, (1, 130, 64)).astype(np.float16) for _ in range(3))
    args = {"Q": q, "K": k, "V": v, "O": np.zeros((1, 130, 64), np.float32)}
    want, got = run(fn, args), run(state.function, args)
    np.testing.assert_allclose(got["O"], want["O"], rtol=2e-3, atol=2e-3)


def test_threads_pin_all_registers_of_the_result(programs: Any) -> None:
    _, state = made(programs, {KEY: ["parallel:l"]})
    lowered = builtin("lower-threads")(state, PassContext(target=EARLY)).function
    pins = [s for s in walk(lowered.body) if isinstance(s, Pin)]
    assert pins
    assert {(s.value.buffer, len(s.value.ranges)) for s in pins} == {("l", 1)}


def test_another_statement_cannot_be_pinned(programs: Any) -> None:
    with pytest.raises(TileError) as caught:
        made(programs, {KEY: ["parallel:alpha"]})
    assert caught.value.code == "E0702"
    assert caught.value.help == "possible: (), ('parallel:l',)"


def test_windows_lie_between_settles() -> None:
    nodes = tuple(Node(f"s{i}", 9.0, i < 2) for i in range(5))
    problem = Problem(nodes, (), {0: frozenset({2}), 1: frozenset({4})}, 1, 60.0)
    assert windows(problem, (0, 1, 2, 3, 4)) == (Window(1, (2, 3)),)
    assert windows(problem, (0, 1, 3, 2, 4)) == (Window(0, (3,)), Window(1, (2,)))
    assert windows(problem, (0, 2, 1, 4, 3)) == ()
