"""Results in units in the last place against float64, and whether the order of threads shows."""

import json

import numpy as np
import pytest

from tile_ir.accuracy import accuracy, in_double, order_of
from tile_ir.accuracy.report import BOUNDS, _distance, units
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.numerics.array import convert_array
from tile_ir.testing.corpus import corpus
from tile_ir.text import parse_function, print_function
from tile_ir.types import bf16, f8e4m3fn, f16, f32, f64
from tile_ir.verify import verify


def kernel(body, params="X: global f32[4], Y: global f32[4]", results="results (Y)"):
    return parse_function(
        f"func @k({params}) {results} {{\n kernel @k {{\n tiles (b) in (4) {{\n{body}\n}}\n}}\n}}"
    )


@pytest.mark.parametrize("name", [n for n in corpus() if n != "flat_view"])
def test_every_sample_is_valid_in_double(name):
    sample = corpus()[name]
    assert verify(in_double(sample.function)) == ()


def test_a_program_in_double_says_so_everywhere():
    fn = kernel("let x: f32 = f32(f16(X[b])) * 0.5\nstore Y[b] = x")
    text = print_function(in_double(fn))
    assert "X: global f64[4]" in text
    assert "let x: f64 = X[b] * 0.5:f64" in text
    assert "f32" not in text


def test_bits_of_floats_are_refused():
    with pytest.raises(TileError, match="bits of a float") as caught:
        in_double(kernel("store Y[b] = f32(bitcast<i32>(X[b]))"))
    assert caught.value.code == "E0519"
    with pytest.raises(TileError, match="bits of a float"):
        in_double(corpus()["flat_view"].function)


@pytest.mark.parametrize(("dt", "step"), [(f16, 2**-10), (bf16, 2**-7), (f32, 2**-23)])
def test_a_unit_is_the_distance_of_neighbours(dt, step):
    at = np.array([1.0, 1.5, 2.0, -4.0, 0.0])
    smallest = dt.format.smallest_positive
    np.testing.assert_array_equal(units(at, dt), [step, step, 2 * step, 4 * step, smallest])
    codes = convert_array(np.array([1.0, 3.0]), f64, dt)
    np.testing.assert_array_equal(convert_array(codes, dt, f64), [1.0, 3.0])


def test_distances_of_what_is_not_finite():
    got = np.array([np.inf, np.nan, 1.0, np.inf, 448.0, np.nan])
    want = np.array([np.inf, np.nan, np.nan, 1e9, 1e9, 2.0])
    assert _distance(got, want, f16)[:4].tolist() == [0.0, 0.0, np.inf, 0.0]
    assert _distance(got, want, f8e4m3fn)[4:].tolist() == [0.0, np.inf]


def test_the_report_names_the_worst_element():
    fn = kernel("store Y[b] = X[b] * X[b]")
    x = np.array([1.0, 1.1, 1.2, 1.3], np.float32)
    got = run(fn, {"X": x})
    exact = accuracy(fn, {"X": x}, got)
    (out,) = exact.outputs
    assert (out.name, out.dtype, out.counts[0], out.skipped) == ("Y", "f32", 4, 0)
    assert out.worst <= 0.5
    wrong = got["Y"].copy()
    wrong[2] += np.float32(10 * 2**-23)
    (out,) = accuracy(fn, {"X": x}, {"Y": wrong}).outputs
    assert out.index == (2,)
    assert 9.5 <= out.worst <= 10.5
    assert out.counts[BOUNDS.index(16.0)] == 1
    assert out.want == pytest.approx(float(x[2]) ** 2, rel=1e-12)
    text = str(accuracy(fn, {"X": x}, {"Y": wrong}))
    assert text.startswith("k: bitwise\nY: f32 4, 4 elements against float64\n")
    assert "worst at [2]: " in text
    document = json.loads(json.dumps(exact.to_json()))
    assert document["bounds"] == list(BOUNDS)
    assert document["order"] == {"kind": "bitwise", "reasons": []}
    assert document["outputs"][0]["counts"][0] == 4


def test_integers_are_equal_or_not():
    fn = kernel("store Y[b] = i32(X[b])", "X: global f32[4], Y: global i32[4]")
    x = np.array([1.0, 2.5, -3.0, 4.0], np.float32)
    got = run(fn, {"X": x})["Y"]
    got[3] = 7
    report = accuracy(fn, {"X": x}, {"Y": got})
    (out,) = report.outputs
    assert (out.counts[0], out.counts[-1], out.index, out.got, out.want) == (3, 1, (3,), 7.0, 4.0)
    assert "different          1  25.00% ##########" in str(report)


def test_what_nothing_wrote_is_left_out():
    fn = kernel("if b < 2 {\nstore Y[b] = X[b]\n}")
    x = np.ones(4, np.float32)
    (out,) = accuracy(fn, {"X": x}, run(fn, {"X": x})).outputs
    assert (out.skipped, sum(out.counts)) == (2, 2)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("atomic add Y[0], X[b]", "sums of floats in Y are rounded in the order of arrival"),
        ("atomic max Y[0], X[b]", ""),
        ("atomic exchange Y[0], X[b]", "the last atomic exchange of Y stays"),
        ("atomic max Y[0], X[b] result = old", "atomic max of Y gives back"),
        ("store Y[b] = X[b]", ""),
    ],
)
def test_what_the_order_of_threads_shows_in(body, reason):
    found = order_of(kernel(body, results=""))
    assert found.kind == ("order-dependent" if reason else "bitwise")
    assert not reason or found.reasons[0].startswith(reason)
