"""Comparison: what is close, what is not, and what the message says."""

import math

import ml_dtypes
import numpy as np
import pytest

from tile_ir.testing.compare import assert_all_close, assert_close, default_tolerance
from tile_ir.types import bf16, f8e4m3fn, f16, f32, f64, i32


def test_tolerances_are_in_steps_of_the_type():
    assert default_tolerance(i32) == 0
    assert default_tolerance(f16) == 2 * 2.0**-10
    assert default_tolerance(bf16) == 2 * 2.0**-7
    assert default_tolerance(f8e4m3fn) == 2.0**-3
    assert default_tolerance(f32) == 32 * 2.0**-23
    assert default_tolerance(f64) == 32 * 2.0**-52


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.float32([1, 2, math.nan]), np.float32([1, 2 + 1e-6, math.nan])),
        (np.float32([math.inf, 100, 0]), np.float32([math.inf, 100, 1e-5])),
        (np.array([1.0, 2.0], ml_dtypes.bfloat16), np.array([1.0078125, 2.0], ml_dtypes.bfloat16)),
        (np.int32([1, -2]), np.int32([1, -2])),
        (np.array([True]), np.array([True])),
        (np.array([3, -8], ml_dtypes.int4), np.array([3, -8], ml_dtypes.int4)),
        (np.uint64([2**64 - 1]), np.uint64([2**64 - 1])),
    ],
)
def test_close(actual, expected):
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.float32([1, 2]), np.float32([1, 2.001])),
        (np.float32([math.nan, 2]), np.float32([1, 2])),
        (np.float32([1, 2]), np.float32([math.nan, 2])),
        (np.float32([1, 3e38]), np.float32([1, math.inf])),
        (np.float32([math.inf]), np.float32([-math.inf])),
        (np.float32([math.inf, 1]), np.float32([3e38, 1])),
        (np.int32([1, 2]), np.int32([1, 3])),
        (np.uint64([2**64 - 1]), np.uint64([2**64 - 2])),
        (np.array([True]), np.array([False])),
    ],
)
def test_not_close(actual, expected):
    with pytest.raises(AssertionError, match="differs in 1 of"):
        assert_close(actual, expected)


def test_shape_and_dtype_must_agree():
    with pytest.raises(AssertionError, match=r"y is float32\[2\], expected float64\[2\]"):
        assert_close(np.zeros(2, np.float32), np.zeros(2), what="y")
    with pytest.raises(AssertionError, match=r"float64\[1\]"):
        assert_close(np.zeros(1), np.zeros(2))


def test_the_message_says_where():
    got, want = np.zeros((4, 5), np.float32), np.zeros((4, 5), np.float32)
    got[1:3, 4] = [1, 2]
    with pytest.raises(AssertionError) as caught:
        assert_close(got, want, what="C")
    assert str(caught.value).splitlines() == [
        "C (float32[4, 5]) differs in 2 of 20 elements",
        "  worst at [2, 4]: got 2.0, expected 0.0",
        "  at [1, 4]: got 1.0, expected 0.0",
        "  at [2, 4]: got 2.0, expected 0.0",
        "  all of them lie within [1..2, 4..4]",
    ]


def test_given_tolerances_replace_the_defaults():
    assert_close(np.float32([1.1]), np.float32([1]), rtol=0.2)
    assert_close(np.int32([5]), np.int32([6]), atol=1)
    want = {"a": np.float32([1]), "b": np.float32([1])}
    assert_all_close({"a": np.float32([1.1]), "b": np.float32([1])}, want, {"a": 0.2})
    with pytest.raises(AssertionError, match=r"a .* differs"):
        assert_all_close({"a": np.float32([1.1]), "b": np.float32([1])}, want, {"a": 0.05})
    with pytest.raises(AssertionError, match="buffers"):
        assert_all_close({"a": np.float32([1])}, want)
