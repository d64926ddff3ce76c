"""Exchanges and reductions in warps against permutations and folds of numpy."""

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function

SHUFFLE = """
func @f(A: global {t}[{n}], L: global i32[{n}], C: global {t}[{n}]) results (C) {{
  kernel @k threads = ({n}) {{ tiles (b) in (1) {{
    alloc x: fragment {t}[{n}]; alloc by: fragment i32[{n}]; alloc y: fragment {t}[{n}]
    copy A[:] -> x[:]; copy L[:] -> by[:]
    shuffle x[:] by by[:] -> y[:]
    copy y[:] -> C[:]
  }} }}
}}"""

REDUCE = """
func @f(A: global {t}[{n}], C: global {t}[{n}]) results (C) {{
  kernel @k threads = ({n}) {{ tiles (b) in (1) {{
    alloc x: fragment {t}[{n}]; alloc y: fragment {t}[{n}]
    copy A[:] -> x[:]
    warp_reduce {kind} x[:] -> y[:]
    copy y[:] -> C[:]
  }} }}
}}"""

FOLDS = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
WIDTHS = [(None, 32), ("sync", 32), ("plain", 64)]


def spec(name):
    return None if name is None else toy_spec(name)


@pytest.mark.parametrize(("target", "width"), WIDTHS)
def test_a_lane_gets_what_it_names_within_its_warp(target, width):
    a = np.arange(128, dtype=np.int32) ** 2
    lanes = (np.arange(128, dtype=np.int32) * 7 + 3) - 100  # also beyond a warp, on both sides
    got = run(
        parse_function(SHUFFLE.format(t="i32", n=128)), {"A": a, "L": lanes}, target=spec(target)
    )
    first = np.arange(128) // width * width
    np.testing.assert_array_equal(got["C"], a[first + lanes % width])


@pytest.mark.parametrize(("target", "width"), WIDTHS)
@pytest.mark.parametrize("kind", FOLDS)
def test_all_lanes_get_the_fold_of_their_warp(kind, target, width):
    a = np.random.default_rng(1).integers(-99, 99, 128).astype(np.int32)
    got = run(
        parse_function(REDUCE.format(t="i32", n=128, kind=kind)), {"A": a}, target=spec(target)
    )
    want = FOLDS[kind].reduce(a.reshape(-1, width), axis=1)
    np.testing.assert_array_equal(got["C"], np.repeat(want, width))


def test_a_sum_of_halves_rounds_as_exchanges_do():
    a = np.random.default_rng(2).standard_normal(64).astype(np.float16)
    got = run(parse_function(REDUCE.format(t="f16", n=64, kind="sum")), {"A": a})
    rows = a.reshape(2, 32)
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = (rows[:, :half] + rows[:, half:]).astype(np.float16)
    np.testing.assert_array_equal(got["C"], np.repeat(rows, 32))


def test_a_nan_wins_a_maximum():
    a = np.arange(64, dtype=np.float32)
    a[40] = np.nan
    got = run(parse_function(REDUCE.format(t="f32", n=64, kind="max")), {"A": a})
    assert got["C"][0] == 31
    assert np.isnan(got["C"][32:]).all()


def test_warps_are_whole():
    fn = parse_function(REDUCE.format(t="f32", n=48, kind="max"))
    with pytest.raises(TileError) as caught:
        run(fn, {"A": np.zeros(48, np.float32)})
    assert caught.value.code == "E0512"
    assert "48 threads" in caught.value.message


def test_what_was_never_written_is_not_exchanged():
    text = SHUFFLE.format(t="i32", n=32).replace("copy A[:] -> x[:];", "")
    with pytest.raises(TileError) as caught:
        run(parse_function(text), {"A": np.zeros(32, np.int32), "L": np.zeros(32, np.int32)})
    assert caught.value.code == "E0503"


def test_the_width_is_the_targets():
    text = """
    func @f(C: global i32[1]) results (C) {
      kernel @k { tiles (b) in (1) { store C[0] = warp_width() } }
    }"""
    found = [int(run(parse_function(text), {}, target=spec(t))["C"][0]) for t, _ in WIDTHS]
    assert found == [32, 32, 64]


@pytest.mark.parametrize(("target", "width"), WIDTHS)
def test_a_ballot_has_a_bit_for_each_lane(target, width):
    text = REDUCE.format(t="bool", n=128, kind="ballot").replace("C: global bool", "C: global u64")
    text = text.replace("alloc y: fragment bool", "alloc y: fragment u64")
    a = np.random.default_rng(3).random(128) < 0.3
    got = run(parse_function(text), {"A": a}, target=spec(target))
    rows = a.reshape(-1, width)
    want = [sum(1 << k for k in range(width) if row[k]) for row in rows]
    assert [int(x) for x in got["C"][::width]] == want
    assert (got["C"].reshape(-1, width) == got["C"][::width, None]).all()


def test_a_ballot_of_one_threads_program():
    text = """
    func @f(A: global bool[64], C: global u64[64]) results (C) {
      kernel @k threads = (64) { tiles (b) in (1) {
        if thread_index() % 3 == 0 { store C[thread_index()] = ballot(A[thread_index()]) }
        else { store C[thread_index()] = 0:u64 }
      } }
    }"""
    a = np.arange(64) % 2 == 0
    got = run(parse_function(text), {"A": a})["C"]
    want = [sum(1 << (t - f) for t in range(f, f + 32) if t % 3 == 0 and a[t]) for f in (0, 32)]
    assert [int(x) for x in got] == [want[t // 32] if t % 3 == 0 else 0 for t in range(64)]
