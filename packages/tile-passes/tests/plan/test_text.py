"""A Plan's text and YAML read back to an equal Plan; what is none is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.diag import TileError
from tile_passes.plan.explain import explain
from tile_passes.plan.model import Candidate, Decision, Plan
from tile_passes.plan.text import parse_plan, plan_from_yaml, plan_to_yaml, print_plan

SAMPLE = Plan(
    (
        Decision(
            key="matmul.k.depth",
            value=4,
            by="user",
            reason="num_stages",
            candidates=(Candidate(3, 49152.0, "bytes"), Candidate(4, None, "")),
        ),
        Decision(key="matmul.channel[A_s_ring]", value=("box_load", 4, "A_s", "B_s")),
    )
)
TEXT = """matmul.k.depth = 4 by user because "num_stages"
  | 3 cost 49152.0 because "bytes"
  | 4 because ""
matmul.channel[A_s_ring] = ["box_load", 4, "A_s", "B_s"] by model
"""


def test_the_text_is_canonical() -> None:
    assert print_plan(SAMPLE) == TEXT
    assert parse_plan(TEXT) == SAMPLE
    assert plan_from_yaml(plan_to_yaml(SAMPLE)) == SAMPLE


values = st.recursive(
    st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)
keys = st.from_regex(r"[a-z]{1,6}(\.[a-z:\[\]#0-9]{1,8}){1,2}", fullmatch=True)
decisions = st.builds(
    lambda key, value, by, reason, options: Decision(
        key=key, value=value, by=by, reason=reason, candidates=tuple(options)
    ),
    keys,
    values,
    st.sampled_from(["model", "user", "tuner", "table"]),
    st.text(max_size=12),
    st.lists(
        st.builds(
            Candidate,
            values,
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.text(max_size=6),
        ),
        max_size=2,
    ),
)


@settings(max_examples=80)
@given(st.lists(decisions, max_size=4))
def test_any_plan_round_trips(found: list[Decision]) -> None:
    plan = Plan(tuple(found))
    assert parse_plan(print_plan(plan)) == plan
    assert plan_from_yaml(plan_to_yaml(plan)) == plan


@pytest.mark.parametrize(
    "text", ["nonsense", "a = by model", "a = 1", "  | 3 because", 'a = 1 by user because "']
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(TileError) as caught:
        parse_plan(text)
    assert caught.value.code == "E0705"
    assert "line 1" in caught.value.message


@pytest.mark.parametrize("text", ["- 1", "a: [", "- {key: a}"])
def test_other_yaml_is_refused(text: str) -> None:
    with pytest.raises(TileError) as caught:
        plan_from_yaml(text)
    assert caught.value.code == "E0705"


def test_explain_prints_decisions_and_what_lost() -> None:
    assert explain(SAMPLE) == (
        "matmul.k.depth = 4 (by user): num_stages\n"
        "    not 3: 49152 bytes\n"
        'matmul.channel[A_s_ring] = ["box_load", 4, "A_s", "B_s"]\n'
    )
    assert explain(SAMPLE, "matmul.channel").count("\n") == 1


def test_a_real_plan_round_trips(programs: Any) -> None:
    plan = programs.planned(programs.tile("attention"), "async").plan
    assert parse_plan(print_plan(plan)) == plan
    assert "attn.j.order" in explain(plan)
