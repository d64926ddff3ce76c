"""The prover: sound by brute force over small boxes, and strong enough for the guards that kernels
need."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.expr import Binary, Const, Expr, Select, Unary, Var
from tile_ir.types import bool_, i32
from tile_passes.analysis.facts import Facts
from tile_passes.analysis.linear import to_expr

COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


def v(name: str) -> Var:
    return Var(name, i32)


def c(value: int) -> Const:
    return Const(value, i32)


def b(op: str, x: Expr, y: Expr) -> Binary:
    return Binary(op, x, y, bool_ if op in (*COMPARE, "land", "lor") else i32)


def evaluate(e: Expr, env: dict[Var, int]) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return env[e]
    if isinstance(e, Unary):
        x = evaluate(e.a, env)
        return -x if e.op == "neg" else int(not x)
    if isinstance(e, Select):
        return evaluate(e.t if evaluate(e.cond, env) else e.f, env)
    assert isinstance(e, Binary)
    x, y = evaluate(e.a, env), evaluate(e.b, env)
    table = {
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "mul": lambda: x * y,
        "floordiv": lambda: x // y,
        "floormod": lambda: x % y,
        "ceildiv": lambda: -(-x // y),
        "truncdiv": lambda: abs(x) // y * (1 if x >= 0 else -1),
        "truncmod": lambda: abs(x) % y * (1 if x >= 0 else -1),
        "min": lambda: min(x, y),
        "max": lambda: max(x, y),
        "lt": lambda: x < y,
        "le": lambda: x <= y,
        "gt": lambda: x > y,
        "ge": lambda: x >= y,
        "eq": lambda: x == y,
        "ne": lambda: x != y,
    }
    return int(table[e.op]())


LEAVES = st.sampled_from([v("x"), v("y"), v("z")]) | st.integers(-9, 9).map(c)


def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    divisor = st.integers(1, 9).map(c)
    return st.one_of(
        st.builds(b, st.sampled_from(["add", "sub", "min", "max", "mul"]), inner, inner),
        st.builds(
            b,
            st.sampled_from(["floordiv", "floormod", "ceildiv", "truncdiv", "truncmod"]),
            inner,
            divisor,
        ),
        inner.map(lambda e: Unary("neg", e, i32)),
    )


EXPRS = st.recursive(LEAVES, grow, max_leaves=6)
CONDS = st.builds(b, st.sampled_from(COMPARE), EXPRS, EXPRS)
BOX = [
    dict(zip((v("x"), v("y"), v("z")), p, strict=True))
    for p in product(range(-3, 6), range(5), range(4))
]


def boxed() -> Facts:
    return Facts().bind(v("x"), c(-3), c(6)).bind(v("y"), c(0), c(5)).bind(v("z"), c(0), c(4))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(assumed=CONDS, claim=CONDS, value=EXPRS)
def test_answers_hold_at_every_point(assumed: Expr, claim: Expr, value: Expr) -> None:
    facts = boxed().assume(assumed)
    points = [env for env in BOX if evaluate(assumed, env)]
    verdict = facts.prove(claim)
    lo, hi = facts.range(value)
    form = to_expr(facts.linear(value))
    for env in points:
        if verdict is not None:
            assert bool(evaluate(claim, env)) is verdict
        got = evaluate(value, env)
        assert lo is None or lo <= got
        assert hi is None or got <= hi
        assert evaluate(form, env) == got


@settings(max_examples=100, derandomize=True, deadline=None)
@given(claim=CONDS)
def test_constant_boxes_without_products_are_mostly_decided(claim: Expr) -> None:
    verdict = boxed().prove(claim)
    values = {bool(evaluate(claim, env)) for env in BOX}
    assert verdict in ({None} | (values if len(values) == 1 else set()))


def tile(facts: Facts, extent: Expr, block: int) -> tuple[Facts, Expr]:
    """The facts and index inside tile `by` of `block` rows of `extent`."""
    inside = facts.bind(v("by"), c(0), b("ceildiv", extent, c(block)))
    inside = inside.bind(v("i"), c(0), c(block))
    return inside, b("add", b("mul", v("by"), c(block)), v("i"))


def test_a_ragged_tile_is_not_proved_and_a_divisible_one_is() -> None:
    m = v("M")
    facts, index = tile(Facts.of_dims([m]), m, 128)
    assert facts.prove(b("lt", index, m)) is None
    assert facts.prove(b("ge", index, c(0))) is True
    facts, index = tile(Facts.of_dims([m]).assume(b("eq", b("floormod", m, c(128)), c(0))), m, 128)
    assert facts.prove(b("lt", index, m)) is True


@pytest.mark.parametrize(("extent", "verdict"), [(1024, True), (1000, None)])
def test_constant_extents_decide_by_divisibility(extent: int, verdict: bool | None) -> None:
    facts, index = tile(Facts(), c(extent), 128)
    assert facts.prove(b("lt", index, c(extent))) is verdict


def test_causal_trip_count_is_at_least_one() -> None:
    s, bm = v("S"), v("bm")
    facts = Facts.of_dims([s]).bind(bm, c(0), b("ceildiv", s, c(128)))
    last = b("mul", b("add", bm, c(1)), c(128))
    trips = b("ceildiv", b("min", s, last), c(128))
    assert facts.prove(b("ge", trips, c(1))) is True


def test_divisions_split_and_remainders_are_bounded() -> None:
    facts = Facts().bind(v("j"), c(0), c(64))
    index = b("add", b("mul", v("k"), c(32)), b("floormod", v("j"), c(32)))
    assert facts.prove(b("eq", b("floordiv", index, c(32)), v("k"))) is True
    assert facts.range(b("floormod", v("k"), c(8))) == (0, 7)
    assert facts.range(b("mul", b("floormod", v("k"), c(8)), c(4))) == (0, 28)


def test_terms_too_small_for_the_next_multiple_do_not_matter() -> None:
    facts = Facts().bind(v("j"), c(0), c(64))
    coarse = b("mul", v("k"), c(64))
    quotient = b("floordiv", b("add", coarse, v("j")), c(192))
    assert facts.prove(b("eq", quotient, b("floordiv", v("k"), c(3)))) is True
    ahead = b("floordiv", b("add", b("add", coarse, v("j")), c(1)), c(192))
    assert facts.prove(b("eq", ahead, b("floordiv", v("k"), c(3)))) is None


def test_a_minimum_is_decided_by_its_cases() -> None:
    m = v("M")
    facts = Facts.of_dims([m]).bind(v("j"), c(0), b("min", m, c(64)))
    assert facts.prove(b("lt", v("j"), m)) is True
    assert facts.prove(b("lt", v("j"), c(64))) is True
    assert facts.prove(b("lt", v("j"), c(63))) is None
    assert facts.prove(b("le", b("add", b("min", m, c(5)), c(0)), b("max", m, c(5)))) is True


def test_contradictory_facts_are_seen() -> None:
    facts = Facts().bind(v("j"), c(0), c(4)).assume(b("gt", v("j"), c(7)))
    assert facts.contradictory()
    assert not Facts().bind(v("j"), c(0), c(4)).contradictory()
