"""Matrix products, reductions and scans against numpy in f64 and exact integers."""

import math

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.text import parse_function
from tile_ir.types import bf16, dtype, f8e4m3fn, f16, f32, f64, i8, i32, i64, tf32, u8

GEMM = """
func @f(A: global {a}[{ashape}], B: global {a}[{bshape}], C: global {c}[5, 6]) results (C) {{
  kernel @k {{ tiles (b) in (1) {{
    alloc A_s: shared {a}[{ashape}]; alloc B_s: shared {a}[{bshape}]; alloc C_l: fragment {c}[5, 6]
    copy A[:, :] -> A_s[:, :]; copy B[:, :] -> B_s[:, :]
    fill C_l[:, :], {start}
    gemm A_s[:, :], B_s[:, :] -> C_l[:, :] {flags}
    copy C_l[:, :] -> C[:, :]
  }} }}
}}"""


def random(shape, dt, seed=0):
    rng = np.random.default_rng(seed)
    if dt.is_float:
        return convert_array(rng.standard_normal(shape), f64, dt)
    low, high = max(int(dt.min_value), -100), min(int(dt.max_value), 100)
    return rng.integers(low, high, shape).astype(to_numpy_dtype(dt))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(
    ("a", "c"),
    [(f16, f32), (bf16, f32), (f8e4m3fn, f32), (f32, f32), (tf32, f32), (f16, f16), (f64, f64)],
    ids=str,
)
def test_float_gemm_is_rounded_once(a, c, transpose_a, transpose_b):
    x, y = random((5, 7), a, 1), random((7, 6), a, 2)
    given = {"A": x.T.copy() if transpose_a else x, "B": y.T.copy() if transpose_b else y}
    flags = ", ".join([*["transpose_a"] * transpose_a, *["transpose_b"] * transpose_b])
    text = GEMM.format(
        a=a,
        c=c,
        ashape="7, 5" if transpose_a else "5, 7",
        bshape="6, 7" if transpose_b else "7, 6",
        start="1.0" if c is f32 else f"1.0:{c}",
        flags=flags,
    )
    want = convert_array(1 + x.astype(np.float64) @ y.astype(np.float64), f64, c)
    np.testing.assert_array_equal(run(parse_function(text), given)["C"], want)


@pytest.mark.parametrize(("a", "c"), [(i8, i32), (u8, i32), (i32, i32), (i64, i64)], ids=str)
def test_integer_gemm_wraps(a, c):
    x, y = random((5, 7), a, 1), random((7, 6), a, 2)
    if a.bits >= 32:
        x, y = x * (2 ** (a.bits // 2) + 3), y * (2 ** (a.bits // 2) - 5)
    text = GEMM.format(
        a=a, c=c, ashape="5, 7", bshape="7, 6", start="2" if c is i32 else "2:i64", flags=""
    )
    exact = x.astype(object) @ y.astype(object) + 2
    want = (exact % 2**c.bits + 2 ** (c.bits - 1)) % 2**c.bits - 2 ** (c.bits - 1)
    got = run(parse_function(text), {"A": x, "B": y})["C"]
    assert got.tolist() == ((exact + 2 ** (c.bits - 1)) % 2**c.bits - 2 ** (c.bits - 1)).tolist()
    assert want.shape == got.shape


def test_init_does_not_read_the_accumulator():
    text = GEMM.format(a=f16, c=f32, ashape="5, 7", bshape="7, 6", start="0.0", flags="init = true")
    text = "\n".join(line for line in text.splitlines() if "fill" not in line)
    x, y = random((5, 7), f16, 1), random((7, 6), f16, 2)
    got = run(parse_function(text), {"A": x, "B": y})["C"]
    np.testing.assert_array_equal(got, (x.astype(np.float64) @ y).astype(np.float32))
    reads = text.replace("init = true", "init = false")
    assert np.isnan(run(parse_function(reads), {"A": x, "B": y})["C"]).all()


REDUCE = """
func @f(A: global {src}[4, 6], B: global {dst}[{n}]) {{
  reduce {kind} A[:, :] -> B[:] dim = {dim}{flags}
}}"""

REFERENCE = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "absmax": lambda x, axis: np.max(np.abs(x), axis=axis),
    "abssum": lambda x, axis: np.sum(np.abs(x), axis=axis),
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


@pytest.mark.parametrize("kind", REFERENCE)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("src", [f16, bf16, f32, i8, i32, u8], ids=str)
def test_reductions(kind, dim, src):
    if src.is_float and kind in ("and", "or", "xor"):
        return
    x = random((4, 6), src, 3)
    n = 6 if dim == 0 else 4
    dst = f32 if src.is_float else i32
    text = REDUCE.format(src=src, dst=dst, n=n, kind=kind, dim=dim, flags="")
    got = run(parse_function(text), {"A": x, "B": np.zeros(n, to_numpy_dtype(dst))})["B"]
    wide = x.astype(np.float64 if src.is_float else np.int64)
    want = REFERENCE[kind](wide, axis=dim).astype(to_numpy_dtype(dst))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", REFERENCE)
@pytest.mark.parametrize(("count", "stride"), [(1, 1), (3, 1), (3, 2), (2, 2), (6, 2)])
def test_a_reduction_in_parts(kind, count, stride):
    text = f"""
func @f(A: global i32[4, 12, 3], B: global i32[4, {count}, 3]) {{
  reduce {kind} A[:, :, :] -> B[:, :, :] dim = -2, parts = ({count}, {stride})
}}"""
    x = random((4, 12, 3), i32, 3)
    got = run(parse_function(text), {"A": x, "B": np.zeros((4, count, 3), np.int32)})["B"]
    part = np.arange(12) // stride % count
    want = [REFERENCE[kind](x[:, part == p], axis=1) for p in range(count)]
    np.testing.assert_array_equal(got, np.stack(want, axis=1))


@pytest.mark.parametrize("kind", REFERENCE)
def test_a_reduction_may_continue(kind):
    x = random((4, 6), i32, 3)
    old = random((4,), i32, 4)
    text = REDUCE.format(src=i32, dst=i32, n=4, kind=kind, dim=1, flags=", clear = false")
    got = run(parse_function(text), {"A": x, "B": old})["B"]
    start = REFERENCE[kind](x, axis=1)
    base = {"absmax": "max", "abssum": "sum"}.get(kind, kind)
    want = REFERENCE[base](np.stack([old, start]), axis=0)
    np.testing.assert_array_equal(got, want)


def test_sums_are_rounded_once_to_their_destination():
    x = np.full((4, 6), 0.1, np.float16)
    x[:, 0] = 2048
    text = REDUCE.format(src=f16, dst=f16, n=4, kind="sum", dim=1, flags="")
    got = run(parse_function(text), {"A": x, "B": np.zeros(4, np.float16)})["B"]
    # Adding 0.1 to 2048 one at a time changes nothing in f16; all five together round to 2048 too,
    # but with 1.0 in place of 0.1 the single rounding gives 2052 where stepwise ones give 2048.
    assert got.tolist() == [2048] * 4
    x[:, 1:] = 1
    got = run(parse_function(text), {"A": x, "B": np.zeros(4, np.float16)})["B"]
    assert got.tolist() == [2052] * 4


@pytest.mark.parametrize("kind", ["max", "min", "absmax", "sum"])
def test_nan_wins_unless_ignored(kind):
    x = random((4, 6), f32, 3)
    x[1, 2] = math.nan
    text = REDUCE.format(src=f32, dst=f32, n=4, kind=kind, dim=1, flags="")
    got = run(parse_function(text), {"A": x, "B": np.zeros(4, np.float32)})["B"]
    assert np.isnan(got).tolist() == [False, True, False, False]
    if kind != "sum":
        ignore = text.replace("dim = 1", 'dim = 1, nan = "ignore"')
        got = run(parse_function(ignore), {"A": x, "B": np.zeros(4, np.float32)})["B"]
        known = np.delete(x[1], 2)
        assert got[1] == REFERENCE[kind](known, axis=0)


def test_a_reduction_of_undefined_integers_is_an_error():
    text = """
    func @f(B: global i32[1]) results (B) {
      alloc S: shared i32[4]
      fill S[0 : +3], 1
      reduce sum S[:] -> B[:] dim = 0
    }"""
    with pytest.raises(TileError, match="E0503"):
        run(parse_function(text), {})


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "max"])
@pytest.mark.parametrize("dt", [f16, f32, i8, u8], ids=str)
def test_scans(kind, dim, reverse, dt):
    x = random((3, 5), dt, 6)
    flags = ", reverse" if reverse else ""
    text = f"""
    func @f(A: global {dt}[3, 5], B: global {dt}[3, 5]) results (B) {{
      scan {kind} A[:, :] -> B[:, :] dim = {dim}{flags}
    }}"""
    got = run(parse_function(text), {"A": x})["B"]
    wide = x.astype(np.float64 if dt.is_float else np.int64)
    wide = np.flip(wide, dim) if reverse else wide
    scan = np.cumsum if kind == "sum" else np.maximum.accumulate
    want = scan(wide, axis=dim)
    want = (np.flip(want, dim) if reverse else want).astype(x.dtype)
    np.testing.assert_array_equal(got, want)


def test_an_atom_means_its_product():
    text = GEMM.format(a=f16, c=f32, ashape="5, 7", bshape="7, 6", start="1.0", flags="")
    text = text.replace("gemm A_s", "atom mma A_s")
    x, y = random((5, 7), f16, 1), random((7, 6), f16, 2)
    scheduled = f"tile.ir scheduled (tile-ir {__import__('tile_ir')._version.__version__})\n{text}"
    from tile_ir.text import parse_module

    (fn,) = parse_module(scheduled).functions
    got = run(fn, {"A": x, "B": y})["C"]
    np.testing.assert_array_equal(got, (1 + x.astype(np.float64) @ y).astype(np.float32))


def test_types_spell_as_in_text():
    assert [dtype("f16"), dtype("f8e4m3fn")] == [f16, f8e4m3fn]
