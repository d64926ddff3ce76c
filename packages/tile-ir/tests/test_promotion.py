"""Result types of operators: the rules of the language pinned one by one, then their algebra."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir.diag import InternalError, TileError
from tile_ir.promotion import (
    BINARY_OPS,
    UNARY_OPS,
    binary_result,
    literal_dtype,
    math_result,
    operand_dtype,
    promote,
    unary_result,
)
from tile_ir.types import ALL_DTYPES, bool_, dtype, f16, f32, f64, i4, i32, tf32, u8

NARROW = [t for t in ALL_DTYPES if t.is_float and t.bits <= 8]
INTEGERS = [t for t in ALL_DTYPES if not t.is_float]
ARITHMETIC = ("add", "sub", "mul")
DIVISIONS = ("floordiv", "floormod", "ceildiv", "truncdiv", "truncmod")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")

PAIRS = [
    ("i8", "i32", "i32"),
    ("u8", "i32", "i32"),
    ("i8", "u32", "u32"),
    ("i32", "u32", "u32"),
    ("i8", "u8", "u8"),
    ("i32", "u64", "u64"),
    ("u32", "i64", "i64"),
    ("i4", "u4", "u4"),
    ("i64", "f16", "f16"),
    ("u8", "bf16", "bf16"),
    ("i32", "f8e4m3fn", "f8e4m3fn"),
    ("f16", "bf16", "f16"),
    ("f16", "f32", "f32"),
    ("bf16", "f64", "f64"),
    ("f8e4m3fn", "f16", "f16"),
    ("f8e5m2", "bf16", "bf16"),
    ("f4e2m1fn", "f32", "f32"),
    ("f4e2m1fn", "f4e2m1fn_unpacked", "f4e2m1fn"),
    ("tf32", "f32", "f32"),
    ("tf32", "f16", "f32"),
    ("tf32", "i32", "f32"),
    ("tf32", "f64", "f64"),
    ("bool", "i8", "i8"),
    ("bool", "u64", "u64"),
    ("bool", "f16", "f16"),
]


@pytest.mark.parametrize(("a", "b", "common"), PAIRS)
def test_common_type(a, b, common):
    assert promote(dtype(a), dtype(b)) is dtype(common)


def _common(a, b):
    try:
        return promote(a, b)
    except TileError as error:
        return None if error.code == "E0202" else error


def test_promotion_is_commutative_and_idempotent():
    for a, b in itertools.product(ALL_DTYPES, repeat=2):
        assert _common(a, b) is _common(b, a)
    assert all(promote(t, t) is t for t in ALL_DTYPES)


def test_promotion_is_associative_where_every_pair_has_a_common_type():
    for a, b, c in itertools.product(ALL_DTYPES, repeat=3):
        if None in (_common(a, b), _common(b, c), _common(a, c)):
            continue
        assert promote(promote(a, b), c) is promote(a, promote(b, c))


def test_a_common_type_is_never_narrower_than_both_of_its_kind():
    for a, b in itertools.product(INTEGERS, repeat=2):
        assert promote(a, b).bits == max(a.bits, b.bits)


def test_two_different_formats_of_at_most_8_bits_have_no_common_type():
    for a, b in itertools.combinations(NARROW, 2):
        if a.format == b.format:
            continue
        with pytest.raises(TileError) as caught:
            promote(a, b)
        assert caught.value.code == "E0202"
        assert caught.value.message == f"{a} and {b} have no common type"
        assert caught.value.help


@given(st.sampled_from(ALL_DTYPES), st.sampled_from(ALL_DTYPES), st.sampled_from([2, 3, 4, 64]))
def test_a_scalar_is_broadcast_to_the_lanes_of_the_other(a, b, lanes):
    common = _common(a, b)
    if common is not None:
        assert promote(a.with_lanes(lanes), b) is common.with_lanes(lanes)
        assert promote(a, b.with_lanes(lanes)) is common.with_lanes(lanes)
        assert promote(a.with_lanes(lanes), b.with_lanes(lanes)) is common.with_lanes(lanes)


@pytest.mark.parametrize("op", ["add", "lt", "and", "land", "shl"])
def test_unequal_lanes_are_refused(op):
    with pytest.raises(TileError, match="i32x2 and i32x4 have different numbers of lanes"):
        binary_result(op, i32.with_lanes(2), i32.with_lanes(4))


LITERALS = [
    (1, "u8", "i32", "i32"),
    (1, "i8", "i32", "i32"),
    (1, "i64", "i32", "i64"),
    (1, "u32", "i32", "u32"),
    (1, "bool", "i32", "i32"),
    (2**31, "i32", "i64", "i64"),
    (-(2**31), "i32", "i32", "i32"),
    (2**63, "i32", "u64", "u64"),
    (3, "f16", "f16", "f16"),
    (3, "bf16", "bf16", "bf16"),
    (2049, "tf32", "f32", "f32"),
    (2**70, "f32", "f32", "f32"),
    (3, "f16x2", "f16", "f16x2"),
    (0.5, "f16", "f32", "f32"),
    (0.5, "bf16", "f32", "f32"),
    (0.5, "f32", "f32", "f32"),
    (0.1, "f64", "f64", "f64"),
    (0.1, "f64x2", "f64", "f64x2"),
    (0.5, "i32", "f32", "f32"),
    (0.5, "i64", "f32", "f32"),
    (0.5, "f8e4m3fn", "f32", "f32"),
    (0.5, "bool", "f32", "f32"),
    (True, "i8", "bool", "i8"),
    (True, "f16", "bool", "f16"),
]


@pytest.mark.parametrize(("value", "other", "literal", "result"), LITERALS)
def test_a_python_literal_meets_a_typed_operand(value, other, literal, result):
    assert literal_dtype(value, dtype(other)) is dtype(literal)
    assert binary_result("mul", dtype(other), literal_dtype(value, dtype(other))) is dtype(result)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**5000], ids=["2^64", "-2^63-1", "huge"])
def test_an_integer_literal_too_large_for_any_type(value):
    with pytest.raises(TileError) as caught:
        literal_dtype(value, i32)
    assert caught.value.code == "E0202"


@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op):
    assert binary_result(op, u8, i32) is i32
    assert binary_result(op, f16, dtype("bf16")) is f16
    assert binary_result(op, bool_, bool_) is i32
    assert binary_result(op, tf32, tf32) is f32
    assert binary_result(op, f16.with_lanes(2), f16) is f16.with_lanes(2)


def test_division_of_floats():
    assert binary_result("div", f16, f16) is f16
    assert binary_result("div", i32, f32) is f32
    assert binary_result("div", f32, i32) is f32


@pytest.mark.parametrize("b", INTEGERS, ids=str)
def test_division_of_integers_is_refused(b):
    with pytest.raises(TileError) as caught:
        binary_result("div", i32, b)
    assert caught.value.code == "E0203"
    assert caught.value.message.startswith(f"i32 / {b}:")


@pytest.mark.parametrize("op", DIVISIONS)
def test_integer_division(op):
    assert binary_result(op, i32, i32) is i32
    assert binary_result(op, u8, i32) is i32
    for a, b in [(f32, i32), (i32, f16), (f64, f64)]:
        with pytest.raises(TileError) as caught:
            binary_result(op, a, b)
        assert caught.value.code == "E0204"
        assert f"{op} of {a} and {b}" in caught.value.message


@pytest.mark.parametrize("op", ["min", "max"])
def test_extrema_keep_the_common_type(op):
    assert binary_result(op, bool_, bool_) is bool_
    assert binary_result(op, tf32, tf32) is tf32
    assert binary_result(op, f16, f32) is f32


@pytest.mark.parametrize("op", ["and", "or", "xor"])
def test_bit_operations(op):
    assert binary_result(op, bool_, bool_) is bool_
    assert binary_result(op, bool_, i32) is i32
    assert binary_result(op, u8, i32) is i32


@pytest.mark.parametrize("op", ["and", "or", "xor", "shl", "shr"])
def test_bit_operations_on_floats_are_refused(op):
    for a, b in [(f32, i32), (i32, f32), (f16, f16)]:
        with pytest.raises(TileError) as caught:
            binary_result(op, a, b)
        assert caught.value.code == "E0205"


@pytest.mark.parametrize("op", ["shl", "shr"])
@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("i32", "u32", "i32"),
        ("i8", "u8", "i8"),
        ("i8", "u16", "i16"),
        ("i4", "u4", "i4"),
        ("i32", "u64", "i64"),
        ("u32", "i32", "u32"),
        ("u8", "i32", "i32"),
        ("i8", "i32", "i32"),
        ("bool", "i32", "i32"),
        ("bool", "bool", "i32"),
        ("i32x4", "u32", "i32x4"),
    ],
)
def test_a_shift_count_never_makes_a_signed_value_unsigned(op, a, b, result):
    assert binary_result(op, dtype(a), dtype(b)) is dtype(result)


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_give_bool_and_compare_in_the_common_type(op):
    assert binary_result(op, u8, i32) is bool_
    assert operand_dtype(op, u8, i32) is i32
    assert operand_dtype(op, bool_, bool_) is bool_
    assert binary_result(op, f32.with_lanes(4), f32) is bool_.with_lanes(4)
    with pytest.raises(TileError, match="E0202"):
        binary_result(op, dtype("f8e4m3fn"), dtype("f8e5m2"))


@pytest.mark.parametrize("op", ["land", "lor"])
def test_logic_takes_the_truth_of_anything(op):
    assert binary_result(op, dtype("f8e4m3fn"), dtype("f8e5m2")) is bool_
    assert operand_dtype(op, i32, f16) is bool_
    assert binary_result(op, i32.with_lanes(2), bool_) is bool_.with_lanes(2)


def test_a_result_is_the_operand_type_except_for_comparisons():
    for op, a, b in itertools.product(BINARY_OPS - set(COMPARISONS), INTEGERS, INTEGERS):
        if op != "div":
            assert binary_result(op, a, b) is operand_dtype(op, a, b)


def test_unary_operators():
    assert unary_result("neg", i4) is i4
    assert unary_result("neg", f16.with_lanes(2)) is f16.with_lanes(2)
    assert unary_result("neg", bool_) is i32
    assert unary_result("neg", tf32) is tf32
    assert unary_result("not", f32.with_lanes(2)) is bool_.with_lanes(2)
    assert unary_result("bnot", u8) is u8
    assert unary_result("bnot", bool_) is bool_
    assert unary_result("abs", u8) is u8


@pytest.mark.parametrize("name", ["u4", "u8", "u16", "u32", "u64", "f8e8m0fnu", "u8x4"])
def test_unary_minus_on_unsigned_is_refused(name):
    with pytest.raises(TileError) as caught:
        unary_result("neg", dtype(name))
    assert caught.value.code == "E0206"
    assert name in caught.value.message


def test_bnot_of_a_float_is_refused():
    with pytest.raises(TileError, match="E0205"):
        unary_result("bnot", f32)


def test_math_functions():
    assert [math_result(t) for t in (bool_, i32, tf32, f16, f64)] == [f32, f32, f32, f16, f64]
    assert math_result(i32.with_lanes(4)) is f32.with_lanes(4)
    assert math_result(f16, f32) is f32
    assert math_result(f16, i32) is f16
    with pytest.raises(InternalError, match="operand"):
        math_result()


def test_unknown_operators_are_ours_to_mend():
    with pytest.raises(InternalError, match="pow"):
        binary_result("pow", f32, f32)
    with pytest.raises(InternalError, match="sqrt"):
        unary_result("sqrt", f32)
    assert len(BINARY_OPS) == 24
    assert len(UNARY_OPS) == 4
