"""The builder: types by promotion, constants folded, identities that hold bit for bit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.core import Buffer, Range
from tile_ir.diag import TileError
from tile_ir.expr import Binary, Broadcast, Cast, Const, Load, Ramp, Select, Slot, Unary, Var
from tile_ir.types import bool_, dtype, f16, f32, f64, i8, i32, i64, u8, u32

i, j = b.var("i"), b.var("j")
x, y = b.var("x", f32), b.var("y", f16)
A = Buffer(name="A", dtype=f16, shape=(b.const(4), b.const(8)), scope="shared")


def c(value, type_=i32):
    return Const(value, type_)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: b.add(b.mul(i, 128), j), "i * 128 + j"),
        (lambda: b.add(b.mul(128, i), j), "i * 128 + j"),
        (lambda: b.add(5, i), "i + 5"),
        (lambda: b.add(b.add(i, 3), 4), "i + 7"),
        (lambda: b.add(b.sub(i, 3), 1), "i - 2"),
        (lambda: b.sub(b.add(i, 3), 3), "i"),
        (lambda: b.sub(i, -3), "i + 3"),
        (lambda: b.sub(i, i), "0"),
        (lambda: b.mul(b.mul(i, 4), 8), "i * 32"),
        (lambda: b.mul(i, 0), "0"),
        (lambda: b.mul(1, i), "i"),
        (lambda: b.floordiv(i, 1), "i"),
        (lambda: b.ceildiv(i, 1), "i"),
        (lambda: b.ceildiv(i, 4), "ceildiv(i, 4)"),
        (lambda: b.floormod(i, 1), "0"),
        (lambda: b.minimum(i, i), "i"),
        (lambda: b.maximum(x, x), "x"),
        (lambda: b.bit_and(i, 0), "0"),
        (lambda: b.bit_or(0, i), "i"),
        (lambda: b.bit_xor(i, i), "0"),
        (lambda: b.shl(i, 0), "i"),
        (lambda: b.shr(i, 2), "i >> 2"),
        (lambda: b.lt(i, i), "false"),
        (lambda: b.le(i, i), "true"),
        (lambda: b.eq(x, x), "x == x"),
        (lambda: b.land(b.lt(i, j), True), "i < j"),
        (lambda: b.land(False, b.lt(i, j)), "false"),
        (lambda: b.lor(b.lt(i, j), False), "i < j"),
        (lambda: b.logical_not(b.lt(i, j)), "i >= j"),
        (lambda: b.logical_not(b.lt(x, 1.0)), "not x < 1.0"),
        (lambda: b.neg(b.neg(i)), "i"),
        (lambda: b.select(b.lt(i, j), 1, 1), "1"),
        (lambda: b.select(True, i, j), "i"),
        (lambda: b.mul(x, 1.0), "x"),
        (lambda: b.mul(x, 0.0), "x * 0.0"),
        (lambda: b.add(x, 0.0), "x + 0.0"),
        (lambda: b.sub(x, x), "x - x"),
        (lambda: b.div(x, 1.0), "x"),
        (lambda: b.add(x, 2), "x + 2.0"),
        (lambda: b.add(y, 1.0), "f32(y) + 1.0"),
        (lambda: b.add(y, 1), "y + 1.0:f16"),
        (lambda: b.call("exp2", [i]), "exp2(f32(i))"),
        (lambda: b.abs_(i), "abs(i)"),
        (lambda: b.bit_not(i), "~i"),
        (lambda: b.truncdiv(i, 3), "truncdiv(i, 3)"),
    ],
)
def test_builds(made, text):
    assert str(made()) == text


@pytest.mark.parametrize(
    ("made", "value", "type_"),
    [
        (lambda: b.floordiv(-7, 2), -4, i32),
        (lambda: b.floormod(-7, 2), 1, i32),
        (lambda: b.truncdiv(-7, 2), -3, i32),
        (lambda: b.truncmod(-7, 2), -1, i32),
        (lambda: b.ceildiv(7, 2), 4, i32),
        (lambda: b.add(b.const(200, u8), b.const(100, u8)), 44, u8),
        (lambda: b.add(b.const(2**31 - 1), 1), -(2**31), i32),
        (lambda: b.shl(1, 5), 32, i32),
        (lambda: b.shr(-8, 1), -4, i32),
        (lambda: b.div(1.0, 3.0), 0.3333333432674408, f32),
        (lambda: b.add(b.const(2048, f16), b.const(1, f16)), 2048.0, f16),
        (lambda: b.minimum(3.0, math.inf), 3.0, f32),
        (lambda: b.lt(1, 2.5), True, bool_),
        (lambda: b.cast(2.75, i32), 2, i32),
        (lambda: b.cast(300, u8), 44, u8),
        (lambda: b.const(0.1), 0.10000000149011612, f32),
        (lambda: b.const(0.1, f64), 0.1, f64),
        (lambda: b.const(3, f16), 3.0, f16),
        (lambda: b.const(2.0, i64), 2, i64),
        (lambda: b.logical_not(5), False, bool_),
        (lambda: b.neg(b.const(-128, i8)), -128, i8),
        (lambda: b.bit_not(b.const(0, u32)), 2**32 - 1, u32),
    ],
)
def test_folds(made, value, type_):
    made = made()
    assert made is Const(value, type_)
    assert type(made.value) is type(value)


def test_numbers_of_other_libraries_are_taken_by_value():
    class Scalar:
        def __init__(self, value):
            self.value = value

        def item(self):
            return self.value

    assert b.const(Scalar(0.5)) is Const(0.5, f32)
    assert b.const(Scalar(3), f16) is Const(3.0, f16)
    assert b.const(Scalar(True)) is Const(True, bool_)
    with pytest.raises(TileError) as caught:
        b.const("1")
    assert caught.value.code == "E0241"


def test_leaves_to_run_time_what_has_no_value():
    assert isinstance(b.floordiv(1, 0), Binary)
    assert isinstance(b.shl(1, 32), Binary)
    assert isinstance(b.div(1.0, 0.0), Binary)
    assert isinstance(b.maximum(0.0, -0.0), Binary)


def test_nan_wins_minimum_and_maximum():
    assert math.isnan(b.minimum(math.nan, 1.0).value)
    assert math.isnan(b.maximum(1.0, math.nan).value)


def test_equal_expressions_are_one_object():
    assert b.add(b.mul(i, 2), j) is b.add(b.mul(2, i), j)
    assert b.const(0.0) is not b.const(-0.0)


def test_types_are_promoted_once():
    made = b.add(b.var("k", i64), i)
    assert made.dtype is i64
    assert made.b is Cast(i, i64)
    assert b.select(b.lt(i, j), y, x) is Select(b.lt(i, j), Cast(y, f32), x, f32)
    assert b.land(i, True) is Cast(i, bool_)


def test_vectors():
    v = b.broadcast(x, 4)
    assert v is Broadcast(x, dtype("f32x4"))
    assert b.add(v, 1.0).b is Broadcast(c(1.0, f32), dtype("f32x4"))
    assert b.ramp(i, 1, 1) is i
    assert b.ramp(i, 2, 8) is Ramp(i, 2, dtype("i32x8"))
    assert b.lt(v, 0.0).dtype is dtype("boolx4")
    assert b.cast(v, dtype("f16x4")) is Broadcast(Cast(x, f16), dtype("f16x4"))
    assert b.load(A, [0, b.ramp(0, 1, 4)]).dtype is dtype("f16x4")


def test_loads_and_regions():
    assert b.load(A, [i, 2]) is Load("A", (i, c(2)), f16)
    assert b.load(A, [i, 2], Slot("ab", 1)).slot == Slot("ab", 1)
    made = b.region(A, [i, (0, 8)])
    assert made.ranges == (Range(i, c(1)), Range(c(0), c(8)))
    assert b.whole(A).ranges == (Range(c(0), c(4)), Range(c(0), c(8)))
    assert b.point(A, [i, j]).ranges == (Range(i, c(1)), Range(j, c(1)))
    assert b.load(A, [b.lt(i, j), 0]).indices[0] is Cast(b.lt(i, j), i32)


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("E0240", lambda: b.const(256, u8)),
        ("E0241", lambda: b.const(0.5, i32)),
        ("E0242", lambda: b.cast(b.broadcast(x, 4), f32)),
        ("E0243", lambda: b.bitcast(x, f16)),
        ("E0244", lambda: b.call("expp", [x])),
        ("E0245", lambda: b.call("exp", [x, x])),
        ("E0246", lambda: b.call("clz", [x])),
        ("E0247", lambda: b.load(A, [x, 0])),
        ("E0248", lambda: b.load(A, [0])),
        ("E0248", lambda: b.region(A, [0, 0, 0])),
        ("E0203", lambda: b.div(i, j)),
        ("E0204", lambda: b.floordiv(x, 2)),
        ("E0205", lambda: b.bit_and(x, 1)),
        ("E0206", lambda: b.neg(b.var("u", u32))),
    ],
)
def test_refuses(code, wrong):
    with pytest.raises(TileError) as caught:
        wrong()
    assert caught.value.code == code


def _value(e, env):
    """The value of an i8 expression, wrapped after every operator."""
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        return env[e.name]
    if isinstance(e, Unary):
        return (-_value(e.a, env) + 128) % 256 - 128
    p, q = _value(e.a, env), _value(e.b, env)
    exact = {"add": p + q, "sub": p - q, "mul": p * q, "min": min(p, q), "max": max(p, q)}[e.op]
    return (exact + 128) % 256 - 128


_PLAIN = {"add": b.add, "sub": b.sub, "mul": b.mul, "min": b.minimum, "max": b.maximum}


@given(
    st.recursive(
        st.one_of(st.sampled_from("pq"), st.integers(-128, 127)),
        lambda inner: st.tuples(st.sampled_from(sorted(_PLAIN)), inner, inner),
        max_leaves=12,
    ),
    st.integers(-128, 127),
    st.integers(-128, 127),
)
def test_simplification_keeps_the_value_under_wrap_around(tree, p, q):
    def build(t, fold):
        if isinstance(t, str):
            return Var(t, i8)
        if isinstance(t, int):
            return Const(t, i8)
        left, right = build(t[1], fold), build(t[2], fold)
        return _PLAIN[t[0]](left, right) if fold else Binary(t[0], left, right, i8)

    env = {"p": p, "q": q}
    assert _value(build(tree, True), env) == _value(build(tree, False), env)
