"""What each lowering makes of a statement, as text."""

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.testing.random import random_inputs
from tile_ir.text import parse_function, print_function
from tile_passes.lower.contract_rows import contract_rows
from tile_passes.lower.fuse_loops import fuse_loops
from tile_passes.lower.lower_tiles import lower_tiles
from tile_passes.lower.split_guards import split_guards
from tile_passes.lower.vector_body import Capabilities
from tile_passes.lower.vectorize import vectorize
from tile_passes.lower.version_tiles import version_tiles

VECTORS = Capabilities(
    bytes=32,
    carrier_bits=lambda dtype: max(32, dtype.bits),
    call=lambda fn, dtype: fn != "popcount",
    packed=lambda dtype: dtype.storage_bits < 8 * dtype.lanes,
)


def kernel(body, signature, dims=""):
    lines = "\n".join(f"      {line}" for line in body.strip().splitlines())
    return parse_function(
        f"tile.ir 1.0 tile\nfunc @f({signature}) {dims} {{\n"
        f"  kernel @k {{\n    tiles (bx) in (2) {{\n{lines}\n    }}\n  }}\n}}\n"
    )


def body_of(fn):
    text = print_function(fn).splitlines()
    start = next(n for n, line in enumerate(text) if line.lstrip().startswith("tiles"))
    return "\n".join(line[6:] for line in text[start + 1 : -3])


COPY = """
alloc s: shared f32[8, 4]
copy A[bx * 8 : +8, 0 : +4] -> s[:, :] clip
copy s[:, :] -> B[bx * 8 : +8, 0 : +4] clip
"""


def test_bounds_of_a_copy_are_bounds_of_its_loops():
    fn = kernel(COPY, "A: global f32[M, 4], B: global f16[M, 4]", "dims (M)")
    assert (
        body_of(lower_tiles(fn))
        == """\
alloc s: shared f32[8, 4]
let rows = max(min(M - bx * 8, 8), 0)
parallel (i, j) in (rows, 4) {
  store s[i, j] = A[bx * 8 + i, j]
}
parallel (i_1, j_1) in (8 - rows, 4) {
  store s[i_1 + rows, j_1] = 0.0
}
let rows_1 = max(min(M - bx * 8, 8), 0)
parallel (i_2, j_2) in (rows_1, 4) {
  store B[bx * 8 + i_2, j_2] = f16(s[i_2, j_2])
}"""
    )


REDUCE = """
alloc s: fragment f16[8, 4]
alloc t: fragment f16[8]
fill s[:, :], 1.0:f16
fill t[:], 2.0:f16
reduce sum s[:, :] -> t[:] dim = 1, clear = false
copy t[:] -> B[bx * 8 : +8]
"""


def test_a_sum_accumulates_in_f32_and_takes_the_old_value_once():
    made = body_of(lower_tiles(kernel(REDUCE, "B: global f16[16]")))
    assert (
        """\
parallel (i_2) in (8) {
  alloc acc: var f32[]
  store acc[] = 0.0
  for r in (0, 4, 1) vectorized {
    store acc[] = acc[] + f32(s[i_2, r])
  }
  store t[i_2] = f16(f32(t[i_2]) + acc[])
}"""
        in made
    )


def test_strict_numerics_keep_the_order_of_a_sum():
    fn = kernel(REDUCE, "B: global f16[16]", "numerics strict")
    assert "for r in (0, 4, 1) serial" in body_of(lower_tiles(fn))


def test_a_guard_becomes_a_bound():
    fn = kernel("parallel (i, j) in (4, 64) { store B[i, bx * 64 + j] = A[j] clip }",
                "A: global f32[64], B: global f32[4, N]", "dims (N)")  # fmt: skip
    assert (
        body_of(split_guards(lower_tiles(fn)))
        == """\
let j_end = max(min(N - bx * 64, 64), 0)
parallel (i, j) in (4, j_end) {
  store B[i, bx * 64 + j] = A[j]
}"""
    )


def test_a_condition_with_two_sides_becomes_two_loops():
    fn = kernel("parallel (j) in (64) { store B[j] = select(j < bx * 5, A[j], A[63 - j]) }",
                "A: global f32[64], B: global f32[64]")  # fmt: skip
    assert (
        body_of(split_guards(fn))
        == """\
let j_end = bx * 5
parallel (j) in (j_end) {
  store B[j] = A[j]
}
parallel (j_1) in (64 - j_end) {
  store B[j_1 + j_end] = A[63 - (j_1 + j_end)]
}"""
    )


def test_a_bound_that_differs_from_row_to_row_splits_every_row():
    fn = kernel("parallel (i, j) in (8, 8) { if j <= i { store B[i, j] = A[i, j] } }",
                "A: global f32[8, 8], B: global f32[8, 8]")  # fmt: skip
    assert (
        body_of(split_guards(fn))
        == """\
for i in (0, 8, 1) serial {
  let j_end = i + 1
  parallel (j) in (j_end) {
    store B[i, j] = A[i, j]
  }
}"""
    )


def test_selections_between_values_stay():
    fn = kernel("parallel (j) in (64) { store B[j] = select(j < bx, 1.0, 2.0) }",
                "B: global f32[64]")  # fmt: skip
    assert split_guards(fn) is fn


def test_unsigned_differences_are_no_bounds():
    fn = kernel("parallel (j) in (64) { if u32(j) < n { store B[j] = 1.0 } }",
                "B: global f32[64], n: u32")  # fmt: skip
    assert split_guards(fn) is fn


def test_vector_steps_and_single_steps():
    fn = kernel("parallel (i, j) in (4, 21) { store B[i, j] = A[i, j] * s[i] }",
                "A: global f32[4, 21], s: global f32[4], B: global f32[4, 21]")  # fmt: skip
    assert (
        body_of(vectorize(fn, VECTORS))
        == """\
for i in (0, 4, 1) serial {
  let s_u: f32 = s[i]
  for j in (0, 14, 8) serial {
    store B[i, ramp(j, 1, 8)] = A[i, ramp(j, 1, 8)] * broadcast(s_u, 8)
  }
  let s_u_1: f32 = s[i]
  store B[i, ramp(16, 1, 4)] = A[i, ramp(16, 1, 4)] * broadcast(s_u_1, 4)
  store B[i, 20] = A[i, 20] * s[i]
}"""
    )


def test_a_scalar_of_memory_is_read_early_only_where_the_loop_runs():
    fn = kernel("parallel (j) in (n) { store B[j] = A[j] + s[n - 1] }",
                "A: global f32[n], s: global f32[n], B: global f32[n]", "dims (n)")  # fmt: skip
    assert "let s_u: f32 = select(n > 0, s[n - 1], 0.0)" in body_of(vectorize(fn, VECTORS))


def test_a_reduction_keeps_several_vectors_in_flight():
    fn = kernel("alloc t: fragment f32[1]\nreduce sum A[bx, :] -> t[:] dim = 1\ncopy t[:] -> B[bx]",
                "A: global f32[2, 64], B: global f32[2]")  # fmt: skip
    made = body_of(vectorize(lower_tiles(fn), VECTORS))
    assert made.count("alloc acc_v") == 4
    assert "sum_lanes(acc_v[] + acc_v_1[] + acc_v_2[] + acc_v_3[])" in made


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("store B[j * 2] = 1.0", "gaps"),
        ("store B[0] = f32(j)", "one element"),
        ("store B[j] = f32(popcount(j))", "no vector form"),
        ("if j % 3 == 0 { store B[j] = 1.0 }", "a branch"),
        ("store B[j] = f32(100 // (j + n))", "a division"),
        ("store B[j] = A[i32(A[j])]", "a gather"),
    ],
)
def test_what_has_no_vector_form_stays_scalar(body, why):
    fn = kernel(f"parallel (j) in (32) {{ {body} }}",
                "A: global f32[64], B: global f32[64], n: i32")  # fmt: skip
    made = body_of(vectorize(fn, VECTORS))
    assert "ramp" not in made, why
    assert "for j in (0, 32, 1) serial" in made


ROWS = """
alloc x: fragment f32[8, 64]
alloc s: fragment f32[8]
copy A[bx * 8 : +8, :] -> x[:, :]
parallel (i, j) in (8, 64) { store x[i, j] = exp(x[i, j]) }
reduce sum x[:, :] -> s[:] dim = 1
parallel (k, l) in (8, 64) { store B[bx * 8 + k, l] = x[k, l] * s[k] }
"""


def test_rows_go_through_all_loops_and_one_row_is_kept():
    fn = kernel(ROWS, "A: global f32[16, 64], B: global f32[16, 64]")
    assert (
        body_of(contract_rows(fuse_loops(lower_tiles(fn))))
        == """\
alloc x: fragment f32[64]
alloc s: var f32[]
for i_1 in (0, 8, 1) serial {
  alloc acc: var f32[]
  store acc[] = 0.0
  for j_1 in (0, 64, 1) vectorized {
    store x[j_1] = A[bx * 8 + i_1, j_1]
    store x[j_1] = exp(x[j_1])
    store acc[] = acc[] + x[j_1]
  }
  store s[] = acc[]
  parallel (l) in (64) {
    store B[bx * 8 + i_1, l] = x[l] * s[]
  }
}"""
    )


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ("parallel (k, l) in (7, 64) { store y[k, l] = x[k + 1, l] }", "other rows"),
        ("parallel (k, l) in (4, 64) { store y[k, l] = x[k, l] }", "fewer rows"),
        ("parallel (k, l) in (8, 64) { store y[k, l] = x[7 - k, l] }", "rows backwards"),
        ("parallel (k, l) in (8, 64) { atomic add x[k, l], 1.0 }", "no plain access"),
    ],
)
def test_loops_that_need_other_rows_stay_apart(second, why):
    fn = kernel(
        "alloc x: fragment f32[8, 64]\nalloc y: fragment f32[8, 64]\n"
        f"parallel (i, j) in (8, 64) {{ store x[i, j] = A[i, j] }}\n{second}",
        "A: global f32[8, 64]",
    )
    assert fuse_loops(fn) is fn, why


LONG_ROWS = """
alloc x: fragment f32[4, 512]
alloc c: fragment f32[512]
alloc m: fragment f32[4]
copy A[bx * 4 : +4, :] -> x[:, :]
copy M[bx * 4 : +4] -> m[:]
reduce sum x[:, :] -> c[:] dim = 0
atomic_tile add c[:] -> C[:]
parallel (i, j) in (4, 512) { store B[bx * 4 + i, j] = x[i, j] * WHAT }
"""
LONG = "A: global f32[8, 512], M: global f32[8], B: global f32[8, 512], C: global f32[512]"


def test_long_rows_take_along_what_is_done_once_for_each_and_sums_across_them():
    fn = kernel(LONG_ROWS.replace("WHAT", "m[i]"), LONG)
    made = contract_rows(fuse_loops(lower_tiles(fn)))
    assert (
        body_of(made)
        == """\
alloc x: fragment f32[512]
alloc c: fragment f32[512]
alloc m: var f32[]
alloc acc: fragment f32[512]
parallel (i_3) in (512) {
  store acc[i_3] = 0.0
}
for i_1 in (0, 4, 1) serial {
  store m[] = M[bx * 4 + i_1]
  parallel (j_1) in (512) {
    store x[j_1] = A[bx * 4 + i_1, j_1]
    store acc[j_1] = acc[j_1] + x[j_1]
    store B[bx * 4 + i_1, j_1] = x[j_1] * m[]
  }
}
parallel (i_3) in (512) {
  store c[i_3] = acc[i_3]
}
parallel (i_4) in (512) {
  atomic add C[i_4], c[i_4]
}"""
    )
    given = random_inputs(fn, 0)
    before, after = run(fn, given), run(made, given)
    for name in "BC":  # the oracle's sums are of float64
        np.testing.assert_allclose(before[name], after[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("what", ["c[j]", "C[j]"])
def test_rows_that_need_a_sum_across_them_come_behind_it(what):
    fn = kernel(LONG_ROWS.replace("WHAT", what), LONG)
    made = fuse_loops(lower_tiles(fn))
    text = body_of(made)
    assert text.index("atomic add") < text.index("store B[")
    given = random_inputs(fn, 0)
    np.testing.assert_allclose(run(fn, given)["B"], run(made, given)["B"], rtol=1e-5, atol=1e-5)


def test_reductions_of_one_row_are_one_loop():
    fn = kernel(
        "alloc s: fragment f32[4]\nalloc q: fragment f32[4]\n"
        "reduce sum A[bx * 4 : +4, :] -> s[:] dim = 1\n"
        "reduce max A[bx * 4 : +4, :] -> q[:] dim = 1\n"
        "parallel (i) in (4) { store B[bx * 4 + i] = s[i] + q[i] }",
        "A: global f32[8, 64], B: global f32[8]",
    )
    made = fuse_loops(lower_tiles(fn))
    assert """\
  for r in (0, 64, 1) vectorized {
    store acc[] = acc[] + A[bx * 4 + i_1, r]
    store acc_1[] = max(acc_1[], A[bx * 4 + i_1, r])
  }
  store s[i_1] = acc[]
  store q[i_1] = acc_1[]""" in body_of(made)
    given = random_inputs(fn, 0)
    np.testing.assert_allclose(run(fn, given)["B"], run(made, given)["B"], rtol=1e-5)


def test_elements_of_neighbours_are_not_fused():
    fn = kernel(
        "alloc x: fragment f32[64]\n"
        "parallel (i) in (64) { store x[i] = A[i] }\n"
        "parallel (j) in (63) { store B[j] = x[j + 1] }\n"
        "parallel (k) in (64) { store B[k] = x[63 - k] }",
        "A: global f32[64], B: global f32[64]",
    )
    assert fuse_loops(fn) is fn


@pytest.mark.parametrize("place", ["i + 1", "i"])
def test_views_of_one_memory_are_not_fused(place):
    """The second loop reads what the first one wrote under another name, at whatever place."""
    fn = parse_function(f"""func @f(A: global f32[8]) results (A) {{
      kernel @f {{
        tiles (bx) in (1) {{
          alloc s: shared f32[2, 8]
          view v: shared f32[16] of s
          view w: shared f32[16] of s
          alloc held: fragment f32[8]
          parallel (i) in (8) {{ store held[i] = v[i] }}
          parallel (i) in (8) {{ store w[{place}] = held[i] }}
          parallel (i) in (8) {{ store s[0, i] = v[i] }}
        }}
      }}
    }}""")
    assert fuse_loops(fn) is fn


def test_a_tile_that_outlives_its_row_is_kept_whole():
    fn = kernel(
        "alloc x: fragment f32[8, 64]\n"
        "for i in (0, 8, 1) serial { parallel (j) in (64) { store x[i, j] = A[i, j] } }\n"
        "store B[0, 0] = x[3, 5]",
        "A: global f32[16, 64], B: global f32[16, 64]",
    )
    assert contract_rows(fn) is fn


def test_whole_tiles_get_a_text_of_their_own():
    fn = kernel(
        "alloc x: fragment f32[8]\ncopy A[bx * 8 : +8] -> x[:] clip\n"
        "copy x[:] -> B[bx * 8 : +8] clip",
        "A: global f32[n], B: global f32[n]", "dims (n)",
    )  # fmt: skip
    assert (
        body_of(version_tiles(fn))
        == """\
if bx * 8 + 8 <= n {
  alloc x_1: fragment f32[8]
  copy A[bx * 8 : +8] -> x_1[:]
  copy x_1[:] -> B[bx * 8 : +8]
} else {
  alloc x: fragment f32[8]
  copy A[bx * 8 : +8] -> x[:] clip
  copy x[:] -> B[bx * 8 : +8] clip
}"""
    )


def test_so_do_whole_pieces_of_a_row():
    fn = kernel(
        "alloc x: fragment f32[8]\nfor k in (0, ceildiv(n, 8), 1) serial {\n"
        "  copy A[bx, k * 8 : +8] -> x[:] clip\n  copy x[:] -> B[bx, k * 8 : +8] clip }",
        "A: global f32[2, n], B: global f32[2, n]", "dims (n)",
    )  # fmt: skip
    assert (
        body_of(version_tiles(fn))
        == """\
alloc x: fragment f32[8]
for k in (0, ceildiv(n, 8), 1) serial {
  if k * 8 + 8 <= n {
    copy A[bx, k * 8 : +8] -> x[:]
    copy x[:] -> B[bx, k * 8 : +8]
  } else {
    copy A[bx, k * 8 : +8] -> x[:] clip
    copy x[:] -> B[bx, k * 8 : +8] clip
  }
}"""
    )


PRODUCTS = [
    (ta, tb, t, acc)
    for ta in (False, True)
    for tb in (False, True)
    for t, acc in (("f16", "f32"), ("f16", "f16"), ("i8", "i32"), ("f64", "f64"))
]


@pytest.mark.parametrize(("ta", "tb", "t", "acc"), PRODUCTS)
def test_a_product_as_loops(ta, tb, t, acc):
    a, c = "3, 5"[:: -1 if ta else 1], "5, 4"[:: -1 if tb else 1]
    flags = ", ".join(w for w, on in (("transpose_a", ta), ("transpose_b", tb)) if on)
    sep = ", " if flags else ""
    fn = kernel(
        f"alloc x: shared {t}[{a}]\nalloc y: shared {t}[{c}]\nalloc z: fragment {acc}[3, 4]\n"
        f"copy A[:, :] -> x[:, :]\ncopy B[:, :] -> y[:, :]\nfill z[:, :], {acc}(1)\n"
        f"gemm x[:, :], y[:, :] -> z[:, :] {flags}{sep}init = bx == 1\n"
        "copy z[:, :] -> C[bx, :, :]",
        f"A: global {t}[{a}], B: global {t}[{c}], C: global {acc}[2, 3, 4]",
    )
    args = random_inputs(fn, 0)
    want = run(fn, args)["C"]
    for made in (lower_tiles(fn), vectorize(lower_tiles(fn), VECTORS)):
        got = run(made, args)["C"]
        assert abs(got.astype("f8") - want.astype("f8")).max() <= 0.02
