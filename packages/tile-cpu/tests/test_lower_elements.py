"""What loops over elements become: texts of small programs, and the oracle before and after."""

import numpy as np
import pytest

from tile_cpu import spec
from tile_cpu.lower import forward_stores, lower_tiles, single_lanes
from tile_cpu.lower.vectorize import capabilities
from tile_ir.interp import run
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function, print_function
from tile_passes.base import PassContext
from tile_passes.lower.vectorize import vectorize
from tile_passes.plan.model import Plan

ZNVER4 = spec.load("znver4")


def kernel(body, signature):
    lines = "\n".join(f"      {line}" for line in body.strip().splitlines())
    return parse_function(
        f"tile.ir 1.0 tile\nfunc @f({signature}) {{\n"
        f"  kernel @k {{\n    tiles (bx) in (2) {{\n{lines}\n    }}\n  }}\n}}\n"
    )


def body_of(fn):
    text = print_function(fn).splitlines()
    start = next(n for n, line in enumerate(text) if line.lstrip().startswith("tiles"))
    return "\n".join(line[6:] for line in text[start + 1 : -3])


def agree(before, after, rtol=0):
    """Both compute the same numbers, to the bit unless `rtol` says otherwise."""
    given = random_inputs(before, 0)
    np.testing.assert_allclose(run(before, given)["B"], run(after, given)["B"], rtol=rtol)


def lowered(fn):
    return lower_tiles.PASS.rewrite(fn, PassContext(target=ZNVER4), Plan())


PAIRS = """
parallel (i, j) in (8, 8) {
  let pair: f16x2 = A[bx * 8 + i, ramp(j // 2 * 2, 1, 2)] * broadcast(s[i], 2)
  store B[bx * 8 + i, j] = max_lanes(select(ramp(0, 1, 2) == HERE, pair, LEAST))
}
""".replace("HERE", "broadcast(j % 2, 2)").replace("LEAST", "broadcast(-inf:f16, 2)")
HALVES = "A: global f16[16, 8], s: global f16[8], B: global f16[16, 8]"


def test_a_lane_of_a_pair_is_computed_alone():
    fn = kernel(PAIRS, HALVES)
    made = single_lanes.single_lanes(fn)
    assert (
        body_of(made)
        == """\
parallel (i, j) in (8, 8) {
  store B[bx * 8 + i, j] = A[bx * 8 + i, j // 2 * 2 + j % 2] * s[i]
}"""
    )
    agree(fn, made)


def test_a_pair_that_may_have_changed_stays():
    text = PAIRS.replace("B[", "A[")
    fn = kernel(text, HALVES)
    assert single_lanes.single_lanes(fn) is fn


FORWARD = """
alloc x: fragment f32[8]
alloc y: fragment f32[8]
parallel (i) in (8) {
  store x[i] = A[bx * 8 + i] * 2.0
  store y[i] = x[i] + 1.0
}
parallel (i) in (8) {
  store x[i] = y[i] * y[i]
  store B[bx * 8 + i] = x[i] + A[i]
}
"""
FLOATS = "A: global f32[16], B: global f32[16]"


def test_what_is_read_where_it_is_written_is_not_stored():
    fn = kernel(FORWARD, FLOATS)
    made = forward_stores.forward_stores(fn)
    assert (
        body_of(made)
        == """\
alloc y: fragment f32[8]
parallel (i) in (8) {
  let x_at: f32 = A[bx * 8 + i] * 2.0
  store y[i] = x_at + 1.0
}
parallel (i) in (8) {
  let x_at_1: f32 = y[i] * y[i]
  store B[bx * 8 + i] = x_at_1 + A[i]
}"""
    )
    agree(fn, made)


@pytest.mark.parametrize(
    "later",
    [
        "parallel (i) in (8) { store B[bx * 8 + i] = x[7 - i] }",
        "for k in (0, 2, 1) serial { parallel (i) in (8) { store B[bx * 8 + i] = x[i] } }",
        "copy x[:] -> B[bx * 8 : +8]",
        "for k in (0, 4, 1) serial { store x[2] = x[2] + 1.0; store B[bx * 8 + k] = x[2] }",
        "let t: i32 = bx\nif t < 1 { parallel (i) in (8) { store B[i] = x[i] } }",
    ],
)
def test_what_others_read_is_stored(later):
    fn = kernel(FORWARD.replace("store B[bx * 8 + i] = x[i] + A[i]", "") + later, FLOATS)
    made = forward_stores.forward_stores(fn)
    assert "store x[i] = " in body_of(made)
    agree(fn, made)


def test_a_place_that_memory_names_is_not_known_once_that_changes():
    body = """
alloc x: fragment f32[8]
alloc p: fragment i32[1]
parallel (i) in (8) { store x[i] = 0.0 }
for k in (0, 1, 1) serial {
  store p[0] = 1
  store x[p[0]] = 5.0
  store p[0] = 2
  store B[bx * 8] = x[p[0]] }"""
    fn = kernel(body, FLOATS)
    made = forward_stores.forward_stores(fn)
    assert "x[p[0]]\n" in body_of(made) or "x[2]" in body_of(made)
    agree(fn, made)


def test_a_row_of_its_own_in_every_trip_is_forwarded_too():
    body = """
alloc x: fragment f32[8]
for k in (0, 2, 1) serial {
  parallel (i) in (8) { store x[i] = A[k * 8 + i]; store B[k * 8 + i] = x[i] }
  for m in (0, 1, 1) serial { store B[k * 8] = B[k * 8] + 1.0 }
}"""
    fn = kernel(body, FLOATS)
    made = forward_stores.forward_stores(fn)
    assert "store x[" not in body_of(made)
    agree(fn, made)


def test_scans_of_a_few_rows_go_forward_together():
    body = "scan sum A[bx * 4 : +4, :] -> B[bx * 4 : +4, :] dim = 1"
    fn = kernel(body, "A: global f32[8, 6], B: global f32[8, 6]")
    made = lowered(fn)
    assert "for r in (0, 6, 1) serial {\n  parallel (i" in body_of(made)
    agree(fn, made, rtol=1e-6)  # the oracle's sums are of float64
    many = kernel(body.replace("4", "64"), "A: global f32[128, 6], B: global f32[128, 6]")
    assert "alloc acc: var f32[]" in body_of(lowered(many))


def test_axes_of_one_element_are_no_loops():
    fn = kernel(
        "parallel (i, j) in (1, 8) { store B[bx + i, j] = A[bx, j] }",
        "A: global f32[2, 8], B: global f32[2, 8]",
    )
    made = lowered(fn)
    assert body_of(made) == "parallel (j) in (8) {\n  store B[bx, j] = A[bx, j]\n}"
    agree(fn, made)


GATHER = "parallel (j) in (16) { store B[bx, j] = A[bx, j // 4 * 3] + A[bx, j * 3] }"


def test_elements_that_lie_anywhere_along_an_axis_are_gathered():
    fn = kernel(GATHER, "A: global f32[2, 46], B: global f32[2, 16]")
    made = vectorize(fn, capabilities(64))
    assert "parallel" not in body_of(made)
    assert "A[bx, (ramp(0, 1, 16) >> broadcast(2, 16)) * broadcast(3, 16)]" in body_of(made)
    agree(fn, made)


@pytest.mark.parametrize(("extent", "becomes"), [(13, True), (12, False)])
def test_under_a_condition_of_lanes_only_what_is_there_is_gathered(extent, becomes):
    """j // 4 * 4 is 12 at most; nothing shows that the condition keeps it inside."""
    body = f"""
alloc x: fragment f32[{extent}]
parallel (i) in ({extent}) {{ store x[i] = A[i] }}
parallel (j) in (16) {{ store B[bx, j] = select(C[j] < 3, x[j // 4 * 4], 0.0) }}"""
    fn = kernel(body, "A: global f32[16], C: global i32[16], B: global f32[2, 16]")
    made = body_of(vectorize(fn, capabilities(64)))
    assert ("for j" in made) is not becomes


SWEPT = """
alloc x: fragment f32[16]
for k in (0, 2, 1) serial {
  if n > 3 {
    parallel (i) in (16) { store x[i] = A[k, i] }
    parallel (i) in (16) { store x[i] = x[i] * 2.0;  store B[bx, i] = x[i] }
  } else {
    LOW
    parallel (i) in (16 - n) { store x[i + n] = 0.0 }
    parallel (i) in (16) { store B[bx, i] = x[i] }
  }
  END
}"""
BOTH = "A: global f32[2, 16], B: global f32[2, 16]"


def swept(low, end=""):
    text = SWEPT.replace("LOW", low).replace("END", end)
    body = "\n".join(f"      {line}" for line in text.strip().splitlines())
    fn = parse_function(
        f"tile.ir 1.0 tile\nfunc @f({BOTH}, n: i32) {{\n"
        f"  kernel @k {{\n    tiles (bx) in (2) {{\n{body}\n    }}\n  }}\n}}\n"
    )
    return fn, forward_stores.forward_stores(fn)


def test_what_every_trip_and_branch_writes_anew_is_not_stored_for_the_next():
    fn, made = swept("parallel (i) in (n) { store x[i] = A[k, i] }")
    doubled = "store x[i] = x_at"
    assert doubled not in body_of(made)
    assert "store x[i + n] = 0.0" in body_of(made)
    given = random_inputs(fn, 0)
    for n in (2, 7):
        before, after = (run(f, {**given, "n": n})["B"] for f in (fn, made))
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("low", "end"),
    [
        ("parallel (i) in (n - 1) { store x[i] = A[k, i] }", ""),
        ("parallel (i) in (n) { store x[i] = A[k, i] }", "store B[bx, 0] = x[3]"),
        ("parallel (i) in (n) { store x[i] = A[k, i] }", "if A[0, 0] > 0.0 { break }"),
    ],
    ids=["an element is left over", "read behind the branch", "the rest was not looked at"],
)
def test_what_may_be_read_later_is_stored(low, end):
    _, made = swept(low, end)
    assert "store x[i] = x_at" in body_of(made)


def test_only_the_last_store_to_an_element_stays():
    fn = kernel(
        "alloc x: fragment f32[8]\n"
        "parallel (i) in (8) { store x[i] = A[bx, i];  store x[i] = A[bx, i] + 1.0 }\n"
        "parallel (i) in (8) { store B[bx, i] = x[7 - i] }",
        "A: global f32[2, 8], B: global f32[2, 8]",
    )
    made = forward_stores.forward_stores(fn)
    assert body_of(made).count("store x[") == 1
    agree(fn, made)
