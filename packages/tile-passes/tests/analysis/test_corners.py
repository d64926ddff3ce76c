"""Conditions over whole boxes: sound by brute force, exact for affine comparisons."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Unary, Var, free_vars
from tile_ir.ops import Parallel
from tile_ir.types import i32
from tile_passes.analysis.corners import Corners, negated
from tile_passes.analysis.facts import Facts

R, C, J = (Var(n, i32) for n in "rcj")
ROWS, COLS = 3, 4
BOX = Parallel(vars=(R, C), extents=(b.const(ROWS), b.const(COLS)), body=())
INSIDE = Facts().bind(R, b.const(0), b.const(ROWS)).bind(C, b.const(0), b.const(COLS))
PYTHON = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "floormod": lambda x, y: x % y,
    "min": min,
    "max": max,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "land": lambda x, y: x and y,
    "lor": lambda x, y: x or y,
}


def corners() -> Corners:
    return Corners.of(BOX, INSIDE, lambda e: True)


def value(e: Expr, env: dict[Var, int]) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return env[e]
    if isinstance(e, Unary):
        x = value(e.a, env)
        return -x if e.op == "neg" else int(not x)
    assert isinstance(e, Binary)
    return int(PYTHON[e.op](value(e.a, env), value(e.b, env)))


def everywhere(cond: Expr, j: int) -> set[int]:
    return {value(cond, {R: r, C: c, J: j}) for r, c in product(range(ROWS), range(COLS))}


numbers = st.integers(-6, 6).map(b.const)
leaves = st.one_of(st.sampled_from([R, C, J]), numbers)
affine = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub"]), inner, inner).map(lambda t: b.binary(*t)),
        st.tuples(inner, st.integers(-3, 3)).map(lambda t: b.mul(*t)),
    ),
    max_leaves=6,
)
indices = st.recursive(
    affine,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["min", "max", "add"]), inner, inner).map(lambda t: b.binary(*t)),
        st.tuples(st.sampled_from(["floordiv", "floormod"]), inner, st.integers(2, 4)).map(
            lambda t: b.binary(*t)
        ),
    ),
    max_leaves=4,
)
comparisons = st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])
conditions = st.recursive(
    st.tuples(comparisons, indices, indices).map(lambda t: b.binary(*t)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["land", "lor"]), inner, inner).map(lambda t: b.binary(*t)),
        inner.map(lambda e: b.unary("not", e)),
    ),
    max_leaves=3,
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(conditions, st.integers(-5, 5))
def test_what_is_found_suffices(cond: Expr, j: int) -> None:
    for found, truth in ((corners().always(cond), 1), (corners().never(cond), 0)):
        if found is not None:
            assert not free_vars(found) & {R, C}
            if value(found, {J: j}):
                assert everywhere(cond, j) == {truth}


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.sampled_from(["lt", "le", "gt", "ge"]), affine, affine, st.integers(-5, 5))
def test_an_affine_comparison_is_decided_exactly(op: str, x: Expr, y: Expr, j: int) -> None:
    cond = b.binary(op, x, y)
    found = corners().always(cond)
    assert found is not None
    assert bool(value(found, {J: j})) == (everywhere(cond, j) == {1})


@settings(max_examples=200, derandomize=True, deadline=None)
@given(conditions, st.integers(-5, 5), st.integers(0, ROWS - 1), st.integers(0, COLS - 1))
def test_the_opposite_is_the_opposite(cond: Expr, j: int, r: int, c: int) -> None:
    env = {R: r, C: c, J: j}
    assert bool(value(negated(cond), env)) != bool(value(cond, env))


@pytest.mark.parametrize(
    ("cond", "text"),
    [
        (b.lt(b.add(b.mul(J, 8), C), b.add(R, 20)), "j * 8 <= 16"),
        (b.lt(b.add(J, C), b.binary("min", b.const(40), b.add(R, 9))), "j <= 5"),
        (b.land(b.lt(C, J), b.lt(R, 3)), "j >= 4"),
        (b.lt(b.binary("floordiv", R, b.const(2)), J), "j >= 2"),
    ],
)
def test_the_worst_corner_decides(cond: Expr, text: str) -> None:
    found = corners().always(cond)
    for j in range(-5, 30):
        want = eval(text, {"j": j})
        assert bool(value(found, {J: j})) == want  # type: ignore[arg-type]  # it was found


def test_a_value_that_threads_differ_in_decides_nothing() -> None:
    other = Corners.of(BOX, INSIDE, lambda e: e is not J)
    assert other.always(b.lt(b.add(J, C), 7)) is None
    assert other.never(b.eq(J, 3)) is None
