"""Operators and functions: every dtype against independent arithmetic, alone and in lanes."""

import dataclasses
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tile_ir import build
from tile_ir.core import Buffer, Function, Param
from tile_ir.diag import TileError
from tile_ir.expr import Binary, Var
from tile_ir.functions import FUNCTIONS
from tile_ir.interp import run
from tile_ir.numerics import convert, wrap
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.ops import For, Parallel, Store
from tile_ir.text import parse_function
from tile_ir.types import ALL_DTYPES, bf16, bool_, f8e4m3fn, f16, f32, f64, i32

N = build.const(64)
I = Var("i", i32)
INTS = [t for t in ALL_DTYPES if t.is_int]
FLOATS = [t for t in ALL_DTYPES if t.is_float]


def program(result, *operands, expr):
    """out[i] = expr(in0[i], in1[i], ...) over 64 lanes."""
    ins = [
        Buffer(name=f"x{k}", dtype=t, shape=(N,), scope="global") for k, t in enumerate(operands)
    ]
    out = Buffer(name="out", dtype=result, shape=(N,), scope="global")
    value = expr(*(build.load(b, [I]) for b in ins))
    body = (Store(buffer="out", indices=(I,), value=value),)
    return Function(
        name="f",
        params=tuple(Param(buffer=b) for b in (*ins, out)),
        results=("out",),
        body=(Parallel(vars=(I,), extents=(N,), body=body),),
    )


def scalar_program(fn):
    """The same iterations one after another, so that every value is uniform."""
    (loop,) = fn.body
    zero, one = build.const(0), build.const(1)
    serial = For(var=I, start=zero, stop=N, step=one, body=loop.body)
    return dataclasses.replace(fn, body=(serial,))


def numbers(dt, seed):
    """64 values of `dt`: the ends of the range, zero, small and large ones."""
    rng = np.random.default_rng(seed)
    if dt.is_bool:
        return rng.integers(0, 2, 64).astype(np.bool_)
    if dt.is_float:
        x = rng.standard_normal(64) * np.exp2(rng.integers(-4, 5, 64))
        return convert_array(x, f64, dt)
    low, high = int(dt.min_value), int(dt.max_value)
    near = [low, high, 0, 1, low + 1, high - 1]
    small = [int(v) for v in rng.integers(max(low, -9), min(high, 9), 20, endpoint=True)]
    wide = [wrap(int(v), dt) for v in rng.integers(-(2**63), 2**63, 38)]
    values = [*near, *small, *wide]
    rng.shuffle(values)
    if dt.bits < 8:  # the 4-bit containers take no list
        return np.array(values, np.int8).astype(to_numpy_dtype(dt))
    return np.array(values, to_numpy_dtype(dt))


def values_of(array):
    return [int(v) for v in array]


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": lambda a, b: int(Fraction(a, b)),
    "truncmod": lambda a, b: a - b * int(Fraction(a, b)),
    "ceildiv": lambda a, b: math.ceil(Fraction(a, b)),
}


def wrapped(value, dt):
    """Two's complement, written apart from the library's own."""
    low = value % 2**dt.bits
    return low - 2**dt.bits if dt.is_signed and low >= 2 ** (dt.bits - 1) else low


@pytest.mark.parametrize("dt", INTS, ids=str)
@pytest.mark.parametrize("op", EXACT)
def test_integer_operators_wrap_at_their_width(op, dt):
    x, y = numbers(dt, 1), numbers(dt, 2)
    if op.endswith(("div", "mod")):
        y = np.where(y == 0, np.ones(64).astype(y.dtype), y)
    fn = program(dt, dt, dt, expr=lambda a, b: Binary(op, a, b, dt))
    want = [wrapped(EXACT[op](a, b), dt) for a, b in zip(values_of(x), values_of(y), strict=True)]
    for version in (fn, scalar_program(fn)):
        assert values_of(run(version, {"x0": x, "x1": y})["out"]) == want


@pytest.mark.parametrize("dt", INTS, ids=str)
@pytest.mark.parametrize("op", ["shl", "shr"])
def test_shifts_within_the_width(op, dt):
    x = numbers(dt, 1)
    count = (np.arange(64) % min(dt.bits, int(dt.max_value) + 1)).astype(to_numpy_dtype(dt))
    fn = program(dt, dt, dt, expr=lambda a, b: Binary(op, a, b, dt))
    pairs = zip(values_of(x), values_of(count), strict=True)
    want = [wrapped(a << c if op == "shl" else a >> c, dt) for a, c in pairs]
    for version in (fn, scalar_program(fn)):
        assert values_of(run(version, {"x0": x, "x1": count})["out"]) == want


def test_signed_division_pinned():
    text = """
    func @f(out: global i32[8]) results (out) {
      let a = -7
      store out[0] = a // 2
      store out[1] = a % 2
      store out[2] = truncdiv(a, 2)
      store out[3] = truncmod(a, 2)
      store out[4] = ceildiv(a, 2)
      store out[5] = a >> 1
      store out[6] = ceildiv(7, a)
      store out[7] = a * 1000000000
    }"""
    out = run(parse_function(text), {})["out"]
    assert out.tolist() == [-4, 1, -3, -1, -3, -4, -1, 1589934592]


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"])
@pytest.mark.parametrize("lanes", [True, False])
def test_division_by_zero_is_an_error_where_it_is_evaluated(op, lanes):
    fn = program(i32, i32, i32, expr=lambda a, b: Binary(op, a, b, i32))
    x, y = np.ones(64, np.int32), np.ones(64, np.int32)
    y[5] = 0
    version = fn if lanes else scalar_program(fn)
    with pytest.raises(TileError, match="E0505"):
        run(version, {"x0": x, "x1": y})


@pytest.mark.parametrize("lanes", [True, False])
def test_select_and_logic_evaluate_only_what_they_take(lanes):
    def guarded(a, b):
        safe = build.land(build.ne(b, 0), build.gt(build.floordiv(a, b), 1))
        return build.select(safe, build.floormod(a, b), -1)

    fn = program(i32, i32, i32, expr=guarded)
    x, y = np.full(64, 7, np.int32), (np.arange(64) % 5).astype(np.int32)
    want = [7 % b if b and 7 // b > 1 else -1 for b in y.tolist()]
    version = fn if lanes else scalar_program(fn)
    assert run(version, {"x0": x, "x1": y})["out"].tolist() == want


@pytest.mark.parametrize("dt", FLOATS, ids=str)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_float_arithmetic_rounds_once_to_its_type(op, dt):
    x, y = numbers(dt, 1), numbers(dt, 2)
    y = np.where(y == 0, convert_array(np.ones(64), f64, dt), y).astype(x.dtype)
    fn = program(dt, dt, dt, expr=lambda a, b: Binary(op, a, b, dt))
    exact = {"div": lambda a, b: a / b, **EXACT}[op]
    if dt is f64:
        want = [exact(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    else:
        pairs = zip(map(float, x), map(float, y), strict=True)
        # A double holds the result of two significands of at most 24 bits well enough for one
        # more rounding to be innocuous (53 >= 2 * 24 + 2).
        want = [convert(exact(a, b), f64, dt) for a, b in pairs]
    for version in (fn, scalar_program(fn)):
        assert [float(v) for v in run(version, {"x0": x, "x1": y})["out"]] == want


def test_half_overflows_and_small_floats_saturate():
    def doubled(dt):
        return program(dt, dt, expr=lambda a: Binary("add", a, a, dt))

    half = run(doubled(f16), {"x0": np.full(64, 60000.0, np.float16)})["out"]
    assert np.all(np.isposinf(half))
    eight = run(doubled(f8e4m3fn), {"x0": np.full(64, 400.0, ml_dtypes.float8_e4m3fn)})["out"]
    assert eight.astype(np.float32).tolist() == [448.0] * 64


@pytest.mark.parametrize("dt", [f16, bf16, f32, f64, f8e4m3fn], ids=str)
@pytest.mark.parametrize("op", ["min", "max"])
def test_min_and_max_propagate_nan(op, dt):
    x, y = numbers(dt, 1), numbers(dt, 2)
    x[3], y[4] = math.nan, math.nan
    fn = program(dt, dt, dt, expr=lambda a, b: Binary(op, a, b, dt))
    choose = {"min": min, "max": max}[op]
    pairs = [(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    want = [math.nan if math.isnan(a + b) else choose(a, b) for a, b in pairs]
    for version in (fn, scalar_program(fn)):
        got = run(version, {"x0": x, "x1": y})["out"].astype(np.float64)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("dt", [i32, f16, bf16, f8e4m3fn], ids=str)
def test_comparisons(op, dt):
    x, y = numbers(dt, 1), numbers(dt, 1)
    y[::3] = numbers(dt, 2)[::3]
    fn = program(bool_, dt, dt, expr=lambda a, b: Binary(op, a, b, bool_))
    compare = getattr(
        np,
        {"lt": "less", "gt": "greater", "eq": "equal"}.get(op, "")
        or {"le": "less_equal", "ge": "greater_equal", "ne": "not_equal"}[op],
    )
    want = compare(x.astype(np.float64), y.astype(np.float64)).tolist()
    for version in (fn, scalar_program(fn)):
        assert run(version, {"x0": x, "x1": y})["out"].tolist() == want


@pytest.mark.parametrize("src", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("dst", ALL_DTYPES, ids=str)
def test_casts_follow_the_conversion_rules(src, dst):
    x = numbers(src, 1)
    fn = program(dst, src, expr=lambda a: build.cast(a, dst))
    read = float if src.is_float else int
    want = [convert(read(v), src, dst) for v in x]
    for version in (fn, scalar_program(fn)):
        got = run(version, {"x0": x})["out"]
        assert [float(v) if dst.is_float else int(v) for v in got] == want


@pytest.mark.parametrize(
    ("src", "dst"), [("f32", "i32"), ("bf16", "u16"), ("f8e5m2", "u8"), ("i4", "u4")]
)
def test_bitcast_keeps_the_bits(src, dst):
    src, dst = build.dtype(src), build.dtype(dst)
    x = numbers(src, 3)
    fn = program(src, src, expr=lambda a: build.bitcast(build.bitcast(a, dst), src))
    once = program(dst, src, expr=lambda a: build.bitcast(a, dst))
    for back, bits in ((fn, once), (scalar_program(fn), scalar_program(once))):
        assert run(back, {"x0": x})["out"].tolist() == x.tolist()
        got = run(bits, {"x0": x})["out"]
        if src is f32:
            assert got.tolist() == x.view(np.int32).tolist()


REFERENCE = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp10": lambda x: 10.0**x,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "round": np.rint,
    "fast_rcp": lambda x: 1 / x,
    "pow": np.power,
    "atan2": np.arctan2,
    "max_num": np.fmax,
    "min_num": np.fmin,
    "fma": lambda x, y, z: x * y + z,
}
ROWS = [
    r
    for r in FUNCTIONS.values()
    if r.on == "float" and r.result == "same" and r.name != "nextafter" and r.arity < 4
]


@pytest.mark.parametrize("dt", [f16, bf16, f32, f64], ids=str)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_functions_are_the_best_value(row, dt):
    rng = np.random.default_rng(7)
    low = 1.0 if row.name == "acosh" else 0.05
    xs = [convert_array(rng.uniform(low, low + 0.9, 64), f64, dt) for _ in range(row.arity)]
    fn = program(dt, *[dt] * row.arity, expr=lambda *a: build.call(row.name, a))
    plain = row.name.removeprefix("fast_")
    reference = REFERENCE.get(row.name) or REFERENCE.get(plain) or getattr(np, plain)
    want = reference(*(x.astype(np.float64) for x in xs))
    for version in (fn, scalar_program(fn)):
        got = run(version, {f"x{k}": x for k, x in enumerate(xs)})["out"].astype(np.float64)
        # Half a unit in the last place of the result, as eps is the gap from 1 to 2.
        assert np.all(
            np.abs(got - want)
            <= 0.501 * dt.eps * np.exp2(np.ceil(np.log2(np.abs(want) + 1e-9))) + 1e-16
        )


def test_fma_is_rounded_once():
    # (1 + 2**-12)**2 = 1 + 2**-11 + 2**-24: the last term is lost in f32 unless z cancels the rest.
    x = np.full(64, 1 + 2.0**-12, np.float32)
    z = np.full(64, -(1 + 2.0**-11), np.float32)
    fn = program(f32, f32, f32, expr=lambda a, b: build.call("fma", [a, a, b]))
    assert run(fn, {"x0": x, "x1": z})["out"].tolist() == [2.0**-24] * 64
    wide = program(f64, f64, f64, expr=lambda a, b: build.call("fma", [a, a, b]))
    x64, z64 = np.full(64, 1 + 2.0**-30), np.full(64, -(1 + 2.0**-29))
    assert run(wide, {"x0": x64, "x1": z64})["out"].tolist() == [2.0**-60] * 64


@pytest.mark.parametrize("dt", INTS, ids=str)
def test_bit_functions(dt):
    x = numbers(dt, 5)
    codes = [v % 2**dt.bits for v in values_of(x)]
    for name, want in (
        ("popcount", [c.bit_count() for c in codes]),
        ("clz", [dt.bits - c.bit_length() for c in codes]),
    ):
        fn = program(i32, dt, expr=lambda a, name=name: build.call(name, [a]))
        for version in (fn, scalar_program(fn)):
            assert run(version, {"x0": x})["out"].tolist() == want


def test_vectors_load_compute_and_store_by_lane():
    text = """
    func @f(A: global f32[4, 8], B: global f32[4, 8]) results (B) {
      for i in (0, 4, 1) serial {
        for j in (0, 2, 1) serial {
          let x: f32x4 = A[i, ramp(j * 4, 1, 4)] * broadcast(2.0, 4)
          store B[i, ramp(j * 4, 1, 4)] = x + broadcast(f32(i), 4)
        }
      }
    }"""
    a = np.arange(32, dtype=np.float32).reshape(4, 8)
    out = run(parse_function(text), {"A": a})["B"]
    np.testing.assert_array_equal(out, a * 2 + np.arange(4, dtype=np.float32)[:, None])
