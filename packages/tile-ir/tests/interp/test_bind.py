"""Arguments: what fits, what symbolic dimensions follow from them."""

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_function

ROWS = """
func @f(A: global f32[M, 2 * N + 1] strides (s, 1), B: global f32[M + N], k: i8) dims (M, N, s)
  results (B) {
  parallel (i) in (M + N) { store B[i] = f32(s) + f32(k) }
}"""


def test_dimensions_are_solved_from_shapes_and_strides():
    wide = np.zeros((3, 16), np.float32)
    out = run(parse_function(ROWS), {"A": wide[:, :9], "k": -1})
    assert out["B"].tolist() == [15.0] * 7


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"k": 1}, "argument A: is missing"),
        ({"A": np.zeros((3, 9), np.float64), "k": 1}, "not an array of float32"),
        ({"A": [1.0], "k": 1}, "is list, not an array"),
        ({"A": np.zeros((3, 9, 1), np.float32), "k": 1}, "has 3 axes, not 2"),
        ({"A": np.zeros((3, 9), np.float32)}, "argument k: is missing"),
        ({"A": np.zeros((3, 9), np.float32), "k": 200}, "200 is no i8"),
        ({"A": np.zeros((3, 9), np.float32), "k": 1, "q": 2}, "no such parameter"),
        ({"A": np.zeros((3, 9), np.float32), "k": 1, "B": np.zeros(6, np.float32)}, "has shape"),
    ],
)
def test_arguments_that_do_not_fit(args, message):
    with pytest.raises(TileError, match=message) as caught:
        run(parse_function(ROWS), args)
    assert caught.value.code == "E0501"


def test_an_impossible_extent_leaves_the_dimension_unknown():
    with pytest.raises(TileError, match="dimension N of f is not determined"):
        run(parse_function(ROWS), {"A": np.zeros((3, 8), np.float32), "k": 1})


def test_a_dimension_may_be_given():
    text = """
    func @f(B: global i32[n]) dims (n) results (B) {
      fill B[:], n
    }"""
    assert run(parse_function(text), {"n": 3})["B"].tolist() == [3, 3, 3]
    with pytest.raises(TileError, match="E0509"):
        run(parse_function(text), {})


def test_any_strides_are_read_through():
    text = (
        "func @f(A: global i32[2, 3], B: global i32[2, 3]) results (B) { copy A[:, :] -> B[:, :] }"
    )
    a = np.arange(6, dtype=np.int32).reshape(3, 2).T
    np.testing.assert_array_equal(run(parse_function(text), {"A": a})["B"], a)


def test_results_start_undefined_and_may_be_passed():
    text = "func @f(B: global f32[2]) results (B) { store B[0] = 1.0 }"
    np.testing.assert_array_equal(run(parse_function(text), {})["B"], [1, np.nan])
    given = np.array([5, 6], np.float32)
    assert run(parse_function(text), {"B": given})["B"].tolist() == [1, 6]
    assert given.tolist() == [5, 6]


def test_an_op_without_a_rule_is_a_coded_error():
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt, attr, op

    @op("test_only_op", syntax="test_only_op $what")
    class Unknown(Stmt):
        """Nothing gives this a meaning."""

        what: str = attr()

    try:
        with pytest.raises(TileError, match="no rule for 'test_only_op'"):
            run(Function(name="f", params=(), body=(Unknown(what="x"),)), {})
    finally:
        from tile_ir import opdef

        del opdef.OPS["test_only_op"], opdef._BY_CLASS[Unknown]
