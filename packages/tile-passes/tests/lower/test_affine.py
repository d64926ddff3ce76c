"""How indices depend on a loop variable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.expr import Const, Select, Var
from tile_ir.types import i32, i64
from tile_passes.lower.affine import at_zero, coefficient, depends

I, J = Var("i", i32), Var("j", i32)


def test_coefficients_of_index_arithmetic():
    assert coefficient(b.add(b.mul(J, 64), I), I) == 1
    assert coefficient(b.sub(J, b.mul(I, 3)), I) == -3
    assert coefficient(b.cast(b.neg(I), i64), I) == -1
    assert coefficient(b.mul(J, 7), I) == 0


@pytest.mark.parametrize(
    "e", [b.mul(I, I), b.floordiv(I, 2), b.mul(I, J), Select(b.lt(I, 3), I, J, i32)]
)
def test_what_is_no_sum_has_none(e):
    assert coefficient(e, I) is None


def test_dependence_is_by_occurrence():
    assert depends(b.add(I, J), {I})
    assert not depends(J, {I})


def value(e, i, j):
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        return {I: i, J: j}[e]
    x = [value(c, i, j) for c in e.children()]
    return {"add": lambda: x[0] + x[1], "sub": lambda: x[0] - x[1], "mul": lambda: x[0] * x[1],
            "neg": lambda: -x[0]}[e.op]()  # fmt: skip


SUMS = st.recursive(
    st.sampled_from([I, J]) | st.integers(-9, 9).map(b.const),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: b.add(*p)),
        st.tuples(inner, inner).map(lambda p: b.sub(*p)),
        st.tuples(inner, st.integers(-4, 4)).map(lambda p: b.mul(*p)),
        inner.map(b.neg),
    ),
    max_leaves=6,
)


@given(SUMS, st.integers(-20, 20), st.integers(-20, 20))
def test_an_index_is_its_coefficient_times_the_variable_and_the_rest(e, i, j):
    c = coefficient(e, I)
    assert c is not None
    assert value(e, i, j) == c * i + value(at_zero(e, I), i, j)
