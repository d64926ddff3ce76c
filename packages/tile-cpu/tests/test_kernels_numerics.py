"""What `strict` numerics forbid, and what integers do at their limits."""

import numpy as np

from tile_cpu import spec
from tile_cpu.driver import build, compile_function
from tile_ir.interp import run
from tile_ir.testing.host_memory import call_on_host
from tile_ir.text import parse_function

ZNVER4 = spec.load("znver4")


def called(text, args):
    fn = parse_function(text)
    launch = build(compile_function(fn, ZNVER4), ZNVER4)
    return call_on_host(launch, fn, args), run(fn, args)


SUM = """tile.ir 1.0 tile
func @total(X: global f32[4, 1000], Y: global f32[4]) results (Y) numerics strict {
  kernel @total { tiles (b) in (4) {
    alloc t: fragment f32[1]
    reduce sum X[b : +1, :] -> t[:] dim = 1
    copy t[:] -> Y[b]
  } } }"""


def test_a_strict_sum_goes_from_left_to_right():
    x = np.random.default_rng(0).standard_normal((4, 1000)).astype(np.float32) * 1e4
    got, _ = called(SUM, {"X": x})
    want = np.zeros(4, np.float32)
    for column in x.T:
        want += column
    assert np.array_equal(got["Y"], want)


FUSED = """tile.ir 1.0 tile
func @f(X: global f32[64], Y: global f32[64]) results (Y) numerics strict {
  kernel @f { tiles (b) in (1) {
    parallel (i) in (64) { store Y[i] = X[i] * X[i] - 1.0 }
  } } }"""


def test_a_strict_product_is_rounded_before_the_sum():
    x = (1 + np.arange(64) * 2.0**-20).astype(np.float32)
    got, want = called(FUSED, {"X": x})
    assert np.array_equal(got["Y"], want["Y"])


INTEGERS = """tile.ir 1.0 tile
func @f(X: global i32[8], Y: global i32[8], Q: global i32[8], Z: global i8[8]) results (Q, Z) {
  kernel @f { tiles (b) in (1) {
    parallel (i) in (8) { store Q[i] = X[i] // Y[i] + X[i] % Y[i] * 1000003 }
    parallel (j) in (8) { store Z[j] = i8(X[j]) * i8(Y[j]) + i8(f32(X[j]) * 1.5) }
  } } }"""


def test_integers_wrap_and_divide_downwards():
    low = np.iinfo(np.int32).min
    x = np.array([7, -7, 7, -7, low, low, 123456789, 0], np.int32)
    y = np.array([2, 2, -2, -2, -1, 3, -1000, -5], np.int32)
    got, want = called(INTEGERS, {"X": x, "Y": y})
    assert np.array_equal(got["Q"], want["Q"])
    assert np.array_equal(got["Z"], want["Z"])


ADDS = """tile.ir 1.0 tile
func @f(X: global {t}[n], S: global {t}[3]) dims (n) {{
  kernel @f {{ tiles (b) in (ceildiv(n, 16)) {{
    parallel (i) in (16) {{
      if b * 16 + i < n {{ atomic add S[(b * 16 + i) % 3], X[b * 16 + i] }}
    }}
  }} }} }}"""


def test_atomic_sums_of_floats_lose_nothing():
    for kind, dtype in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16)):
        x = (np.arange(1000) % 7 - 3).astype(dtype)
        got, want = called(ADDS.format(t=kind), {"X": x, "S": np.zeros(3, dtype)})
        assert np.array_equal(got["S"], want["S"]), kind
