"""The C prelude: accuracy of the functions, conversions by the language's rules, reductions,
integers."""

import ctypes
import math
from functools import cache

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_cpu import spec, toolchain
from tile_cpu.codegen_flags import flags_for
from tile_cpu.intrinsics.math import F64_ULP, ULP
from tile_cpu.prelude import templates
from tile_cpu.prelude.index import abi_text, pieces_for
from tile_cpu.prelude.templates import resolve
from tile_cpu.spec import host
from tile_ir.diag import InternalError
from tile_ir.numerics import convert, integer
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import dtype

NARROW = (
    "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e4m3b11fnuz", "f8e3m4", "f8e5m2", "f8e5m2fnuz",
    "f8e8m0fnu", "f6e2m3fn", "f6e3m2fn", "f4e2m1fn",
)  # fmt: skip
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
C_TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    **dict.fromkeys(NARROW, np.uint8),
    "bool": np.uint8,
}
C_TYPES |= {"f16": np.uint16, "bf16": np.uint16, "i4": np.uint8, "u4": np.uint8}
C_TYPES |= {n: np.dtype(f"{'int' if n[0] == 'i' else 'uint'}{n[1:]}").type for n in INTEGERS}


def runnable():
    """(description, lanes of f32, contraction forbidden) that this machine can run."""
    here = host.host_features()
    fitting = [a for a in spec.names() if set(spec.load(a).toolchain.host_features) <= here]
    cases = [(a, spec.load(a).vector_unit.bytes // 4) for a in fitting]
    narrower = [(a, n // 2) for a, n in cases if n > 4]
    return [(a, n, i % 2 == 1) for i, (a, n) in enumerate([*cases, *narrower])]


CASES = runnable()


def loop(name, lanes, source, target, arguments=1):
    """A C function that applies a function of the prelude to arrays."""
    parameters = "".join(f"const {source}_t *x{i}, " for i in range(arguments))
    loads = ", ".join(f"tile_load_{source}x{lanes}(x{i} + at)" for i in range(arguments))
    return (
        f"TILE_EXPORT void {name}_x{lanes}({parameters}{target}_t *y, int64_t n) {{\n"
        f"  for (int64_t at = 0; at < n; at += {lanes})\n"
        f"    tile_store_{target}x{lanes}(y + at, {name}x{lanes}({loads}));\n}}\n"
    )


def needs(name, lanes, source, target):
    return {f"{name}x{lanes}", f"tile_load_{source}x{lanes}", f"tile_store_{target}x{lanes}"}


@pytest.fixture(scope="module")
def built(build_c):
    """Library of the listed functions for a case, built when first needed."""

    @cache
    def of(case, functions):
        arch, _, strict = case
        texts, wanted = [], set()
        for name, lanes, source, target, arguments in functions:
            texts.append(loop(name, lanes, source, target, arguments))
            wanted |= needs(name, lanes, source, target)
        text = "\n".join((abi_text(), pieces_for(wanted), *texts))
        description = spec.load(arch)
        return build_c(text, *flags_for(description, toolchain.find_toolchain(), strict))

    return of


def apply(library, name, lanes, target, *xs):
    """Run one of the loops over arrays whose length is a multiple of the lanes."""
    out = np.empty(xs[0].shape, C_TYPES[target])
    assert len(out) % lanes == 0
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*xs, out)]
    getattr(library, f"{name}_x{lanes}")(*pointers, ctypes.c_int64(len(out)))
    return out


SPECIAL = np.array(
    [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1.5, 2.5, -2.5, 3, np.inf, -np.inf, np.nan, 1e-45, -1e-45,
     1.1754944e-38, 3.4028235e38, -3.4028235e38, 88.72284, 88.73, -87.4, -103.97, -104.1, 127.99999,
     128, -126, -149, -149.6, -150, 38.53184, 38.54, -44.8, -45.2, 4194304.5, 8388607.5, 16777216,
     1e10, 1e20, 2.0**20, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, 2.0**64],
    np.float32,
)  # fmt: skip


def whole(x):
    """`x` as f32, cut to a multiple of 16 elements."""
    x = np.asarray(x, np.float32)
    return np.ascontiguousarray(np.resize(x, -(-len(x) // 16) * 16))


RANDOM = np.random.default_rng(5)
BITS = RANDOM.integers(0, 2**32, 1 << 17, dtype=np.uint32).view(np.float32)
BITS[np.isnan(BITS)] = np.nan  # casts of signalling ones make numpy warn
RANGES = {
    "exp": (-105, 90), "exp2": (-151, 130), "exp10": (-46, 39), "log": (0.5, 2), "log2": (0.5, 2),
    "log10": (0.5, 2), "tanh": (-10, 10), "erf": (-4.5, 4.5), "sin": (-1e3, 1e3),
    "cos": (-1e3, 1e3),
}  # fmt: skip
REFERENCE = {
    "exp10": lambda x: np.power(10.0, x),
    "erf": np.vectorize(math.erf),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "round": np.rint,
}
UNARY = (*sorted(set(ULP) - {"pow"}), "floor", "ceil", "trunc", "round")


@cache
def arguments_of(name):
    low, high = RANGES.get(name, (-1e4, 1e4))
    dense = np.linspace(low, high, 1 << 17)
    near = RANDOM.standard_normal(1 << 15)
    return whole(np.concatenate([BITS, dense, near, near * 1e5, SPECIAL]))


@cache
def expected(name):
    with np.errstate(all="ignore"):
        return REFERENCE.get(name, getattr(np, name, None))(arguments_of(name).astype(np.float64))


def ulp_error(got, want):
    """Largest error in units of the f32 result; asserts that limits and NaN agree."""
    with np.errstate(over="ignore"):
        rounded = want.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    infinite = np.isinf(rounded)
    np.testing.assert_array_equal(got[infinite], rounded[infinite])
    finite = np.isfinite(rounded)
    size = np.minimum(np.abs(rounded[finite]), np.float32(2.0**127))
    unit = np.spacing(size).astype(np.float64)
    return float(np.max(np.abs(got[finite].astype(np.float64) - want[finite]) / unit))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_functions_of_one_argument_keep_their_accuracy(built, case):
    _, lanes, _ = case
    library = built(case, tuple((f"tile_{f}_f32", lanes, "f32", "f32", 1) for f in UNARY))
    for name in UNARY:
        got = apply(library, f"tile_{name}_f32", lanes, "f32", arguments_of(name))
        want = expected(name)
        assert ulp_error(got, want) <= ULP.get(name, 0), name
        zero = want == 0
        signs = np.signbit(got[zero]) == np.signbit(want[zero])
        assert signs.all(), f"{name}: sign of zero"


def test_the_stated_accuracy_is_not_looser_than_half_again_the_measured(built):
    """A bound that nothing comes near says nothing."""
    worst = dict.fromkeys(set(ULP) - {"pow", "sqrt"}, 0.0)
    for case in CASES:
        _, lanes, _ = case
        library = built(case, tuple((f"tile_{f}_f32", lanes, "f32", "f32", 1) for f in UNARY))
        for name in worst:
            got = apply(library, f"tile_{name}_f32", lanes, "f32", arguments_of(name))
            worst[name] = max(worst[name], ulp_error(got, expected(name)))
    assert {n: w for n, w in worst.items() if ULP[n] > 1.5 * w} == {}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_powers(built, case):
    _, lanes, _ = case
    library = built(case, (("tile_pow_f32", lanes, "f32", "f32", 2),))
    size = 1 << 15
    special_x, special_y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    base = np.concatenate([np.abs(BITS[:size]), RANDOM.uniform(0, 10, size)])
    base = np.concatenate([base, RANDOM.uniform(0.9, 1.1, size), -np.abs(BITS[:size]), special_x])
    power = np.concatenate([RANDOM.uniform(-3, 3, size), RANDOM.uniform(-30, 30, size)])
    whole_powers = np.rint(RANDOM.uniform(-9, 9, size))
    power = np.concatenate([power, RANDOM.uniform(-900, 900, size), whole_powers, special_y])
    x, y = whole(base), whole(power)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64))
    got = apply(library, "tile_pow_f32", lanes, "f32", x, y)
    assert ulp_error(got, want) <= ULP["pow"]
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


LIBRARY = ("exp", "exp2", "exp10", "log", "log2", "log10", "tanh", "erf", "sin", "cos")


def test_f64_functions_come_from_the_c_library(built):
    case = (CASES[-1][0], 2, False)
    names = tuple((f"tile_{f}_f64", 2, "f64", "f64", 1) for f in (*LIBRARY, "sqrt", "rsqrt"))
    library = built(case, (*names, ("tile_pow_f64", 2, "f64", "f64", 2)))
    x = np.abs(np.random.default_rng(7).standard_normal(400)) * 5 + 1e-3
    exact = {"exp2": lambda v: mpmath.power(2, v), "exp10": lambda v: mpmath.power(10, v)}
    exact |= {"log2": lambda v: mpmath.log(v, 2), "rsqrt": lambda v: 1 / mpmath.sqrt(v)}
    with mpmath.workprec(200):
        for name in (*LIBRARY, "sqrt", "rsqrt"):
            got = apply(library, f"tile_{name}_f64", 2, "f64", x)
            function = exact.get(name) or getattr(mpmath, name)
            for value, result in zip(x, got, strict=True):
                want = function(mpmath.mpf(float(value)))
                assert abs(result - want) <= F64_ULP * np.spacing(abs(float(want))), name
        got = apply(library, "tile_pow_f64", 2, "f64", x, x[::-1].copy())
    np.testing.assert_allclose(got, x ** x[::-1], rtol=4e-16)


# -- conversions


def bits_of(x):
    return x.view({1: np.uint8, 2: np.uint16}[x.dtype.itemsize])


def f32_inputs(name):
    """Every code of the type as f32, all midpoints and their neighbours, specials and random
    bits."""
    kind = dtype(name)
    codes = np.arange(1 << min(kind.bits, 16))
    numbers = np.array([kind.float_format.decode(int(c)) for c in codes])
    finite = np.unique(numbers[np.isfinite(numbers)])
    middle = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    around = [np.nextafter(middle, np.float32(s), dtype=np.float32) for s in (-np.inf, np.inf)]
    with np.errstate(over="ignore"):
        all_of = [finite.astype(np.float32), middle, *around, SPECIAL, BITS[:4096]]
    return whole(np.concatenate([*all_of, -np.concatenate(all_of)]))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_narrow_floats_are_rounded_by_the_rules(built, case):
    _, lanes, _ = case
    library = built(case, tuple((f"tile_f32_to_{n}", lanes, "f32", n, 1) for n in NARROW))
    for name in NARROW:
        x = f32_inputs(name)
        got = apply(library, f"tile_f32_to_{name}", lanes, name, x)
        want = convert_array(x, dtype("f32"), dtype(name))
        nan = np.isnan(want.astype(np.float32))
        decoded = got.view(to_numpy_dtype(dtype(name)))
        assert np.isnan(decoded[nan].astype(np.float32)).all(), name
        np.testing.assert_array_equal(got[~nan], bits_of(want)[~nan], err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_narrow_floats_are_read_exactly(built, case):
    _, lanes, _ = case
    library = built(case, tuple((f"tile_{n}_to_f32", lanes, n, "f32", 1) for n in NARROW))
    for name in NARROW:
        kind = dtype(name)
        codes = np.resize(np.arange(1 << kind.bits), max(16, 1 << kind.bits)).astype(C_TYPES[name])
        got = apply(library, f"tile_{name}_to_f32", lanes, "f32", codes)
        want = np.array([kind.float_format.decode(int(c)) for c in codes], np.float32)
        np.testing.assert_array_equal(got, want, err_msg=name)
        zero = want == 0
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("name", ["f16", "bf16", "f8e4m3fn", "f8e5m2", "f4e2m1fn"])
def test_f64_is_rounded_once(built, name):
    case = (CASES[-1][0], 2, False)
    library = built(case, ((f"tile_f64_to_{name}", 4, "f64", name, 1),))
    x = f32_inputs(name).astype(np.float64)
    x = np.concatenate([x, x * (1 + 2.0**-40), x * (1 - 2.0**-40)])
    got = apply(library, f"tile_f64_to_{name}", 4, name, x)
    want = convert_array(x, dtype("f64"), dtype(name))
    keep = ~np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(got[keep], bits_of(want)[keep])


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_floats_become_integers_truncated_and_saturated(built, case, source):
    lanes = min(case[1], 4)
    targets = (*INTEGERS, "bool")
    functions = tuple((f"tile_{source}_to_{t}", lanes, source, t, 1) for t in targets)
    library = built(case, functions)
    edges = [b for t in INTEGERS for b in (dtype(t).min_value, dtype(t).max_value)]
    near = [e + d for e in edges for d in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)]
    x = whole(np.concatenate([SPECIAL, BITS[:2048], RANDOM.uniform(-1e5, 1e5, 2048), near]))
    x = x.astype(C_TYPES[source])
    for target in targets:
        got = apply(library, f"tile_{source}_to_{target}", lanes, target, x)
        want = [int(convert(float(v), dtype(source), dtype(target))) for v in x]
        np.testing.assert_array_equal(got, np.array(want, C_TYPES[target]), err_msg=target)


def test_integers_become_floats_rounded_once(built):
    case, lanes = CASES[-1], 4
    targets = ("f32", "f64", "f16", "bf16", "f8e5m2")
    functions = [(f"tile_{i}_to_{t}", lanes, i, t, 1) for i in INTEGERS for t in targets]
    library = built(case, tuple(functions))
    for name in INTEGERS:
        low, high = int(dtype(name).min_value), int(dtype(name).max_value)
        values = [low, low + 1, -1, 0, 1, 2, 127, 255, 2049, 4097, 65519, 65520, 2**24 + 1, high]
        values += [2**53 + 1, 257 * 2**40 + 1, 255 * 2**45 + 2**44 + 1, high - 1]
        kept = [v for v in values if low <= v <= high]
        x = np.resize(np.array(kept, C_TYPES[name]), 20)
        for target in targets:
            got = apply(library, f"tile_{name}_to_{target}", lanes, target, x)
            want = np.array([convert(int(v), dtype(name), dtype(target)) for v in x])
            decoded = got if target in ("f32", "f64") else got.view(to_numpy_dtype(dtype(target)))
            np.testing.assert_array_equal(
                decoded.astype(np.float64), want, err_msg=f"{name} {target}"
            )


def test_tf32_keeps_ten_bits(built):
    library = built(CASES[-1], (("tile_round_tf32", 4, "f32", "f32", 1),))
    x = whole(np.concatenate([SPECIAL, BITS]))
    got = apply(library, "tile_round_tf32", 4, "f32", x)
    want = convert_array(x, dtype("f32"), dtype("tf32")).astype(np.float32)
    np.testing.assert_array_equal(got, want)


# -- lanes


REDUCTIONS = {
    "hsum": np.sum, "hprod": np.prod, "hmax": np.max, "hmin": np.min,
}  # fmt: skip


def test_reductions_over_lanes(build_c):
    kinds = [(t, n) for t in ("f32", "f64", "i32", "u8", "i16") for n in (2, 4, 8, 16)]
    texts, wanted = [], set()
    for t, n in kinds:
        for name in REDUCTIONS:
            texts.append(
                f"TILE_EXPORT void {name}_{t}_{n}(const {t}_t *x, {t}_t *y) "
                f"{{ *y = tile_{name}_{t}x{n}(tile_load_{t}x{n}(x)); }}"
            )
            wanted |= {f"tile_{name}_{t}x{n}", f"tile_load_{t}x{n}"}
    library = build_c("\n".join((abi_text(), pieces_for(wanted), *texts)), "-O1")
    for t, n in kinds:
        x = (np.arange(n) * 7 % 5 + 1).astype(C_TYPES[t])
        for name, reference in REDUCTIONS.items():
            y = np.zeros(1, x.dtype)
            getattr(library, f"{name}_{t}_{n}")(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y)))
            assert y[0] == reference(x).astype(x.dtype), (name, t, n)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_nan_wins_in_maximum_and_minimum_and_loses_in_the_others(built, case):
    _, lanes, _ = case
    names = ("max", "min", "max_num", "min_num")
    library = built(case, tuple((f"tile_{f}_f32", lanes, "f32", "f32", 2) for f in names))
    values = np.array([1, -1, 0.0, np.inf, -np.inf, np.nan, 5, -3], np.float32)
    x, y = (whole(part.ravel()) for part in np.meshgrid(values, values))
    references = (np.maximum, np.minimum, np.fmax, np.fmin)
    for name, reference in zip(names, references, strict=True):
        got = apply(library, f"tile_{name}_f32", lanes, "f32", x, y)
        np.testing.assert_array_equal(got, reference(x, y), err_msg=name)


def test_partial_loads_and_stores_touch_only_what_is_there(build_c):
    names = {"tile_load_first_f32x8", "tile_store_first_f32x8", "tile_load_strided_f32x8"}
    text = """
TILE_EXPORT void copy(const f32_t *x, f32_t *y, int64_t n) {
  tile_store_first_f32x8(y, tile_load_first_f32x8(x, n), n);
}
TILE_EXPORT void gather(const f32_t *x, f32_t *y, int64_t stride) {
  tile_store_first_f32x8(y, tile_load_strided_f32x8(x, stride), 8);
}
"""
    library = build_c(abi_text() + pieces_for(names) + text, "-O1")
    x = np.arange(1, 40, dtype=np.float32)
    for n in range(10):
        y = np.zeros(12, np.float32)
        library.copy(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y)), ctypes.c_int64(n))
        assert list(y) == [*range(1, min(n, 8) + 1), *[0] * (12 - min(n, 8))]
    y = np.zeros(8, np.float32)
    library.gather(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y)), ctypes.c_int64(3))
    assert list(y) == [1, 4, 7, 10, 13, 16, 19, 22]


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_transposing_twice_and_once(build_c, lanes):
    text = f"""
TILE_EXPORT void turn(f32_t *x) {{
  f32x{lanes} r[{lanes}];
  for (int i = 0; i < {lanes}; i++) r[i] = tile_load_f32x{lanes}(x + i * {lanes});
  tile_transpose_f32x{lanes}(r);
  for (int i = 0; i < {lanes}; i++) tile_store_f32x{lanes}(x + i * {lanes}, r[i]);
}}
"""
    wanted = {f"tile_{f}_f32x{lanes}" for f in ("load", "store", "transpose")}
    library = build_c(abi_text() + pieces_for(wanted) + text, "-O1")
    x = np.arange(lanes * lanes, dtype=np.float32).reshape(lanes, lanes)
    y = x.copy()
    library.turn(ctypes.c_void_p(y.ctypes.data))
    np.testing.assert_array_equal(y, x.T)


# -- integers and 4-bit codes


OPERATIONS = ("truncdiv", "truncmod", "floordiv", "floormod", "ceildiv")


@pytest.fixture(scope="module")
def divisions(build_c):
    kinds = ("i8", "u8", "i32", "i64")
    texts = [
        f"TILE_EXPORT {t}_t {o}_{t}({t}_t a, {t}_t b) {{ return tile_{o}_{t}(a, b); }}"
        for o in OPERATIONS
        for t in kinds
    ]
    wanted = {f"tile_{o}_{t}" for o in OPERATIONS for t in kinds}
    return build_c("\n".join((abi_text(), pieces_for(wanted), *texts)), "-O1", "-fwrapv")


@given(
    st.sampled_from(OPERATIONS),
    st.sampled_from(["i8", "u8", "i32", "i64"]),
    st.integers(-(2**63), 2**63 - 1),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)),
)
def test_divisions_are_those_of_the_language(divisions, operation, name, a, b):
    kind = dtype(name)
    a, b = integer.wrap(a, kind), integer.wrap(b, kind)
    if b == 0:
        b = 1
    function = getattr(divisions, f"{operation}_{name}")
    c_type = getattr(ctypes, f"c_{'u' if name[0] == 'u' else ''}int{kind.bits}")
    function.argtypes, function.restype = (c_type, c_type), c_type
    assert function(a, b) == getattr(integer, operation)(a, b, kind)


def test_nibbles_are_packed_low_half_first(built):
    text_names = {"tile_pack4_u8x16", "tile_unpack4_u8x16"}
    assert all(resolve(name) for name in text_names)
    library = built(
        CASES[-1],
        (("tile_popcount_i32", 4, "i32", "i32", 1), ("tile_clz_i32", 4, "i32", "i32", 1)),
    )
    x = np.array([0, 1, -1, 255, 1 << 30, -(2**31), 12345, 7], np.int32)
    bits = [bin(v & 0xFFFFFFFF).count("1") for v in x.tolist()]
    zeros = [32 - (v & 0xFFFFFFFF).bit_length() for v in x.tolist()]
    assert list(apply(library, "tile_popcount_i32", 4, "i32", x)) == bits
    assert list(apply(library, "tile_clz_i32", 4, "i32", x)) == zeros


def test_four_bit_codes_round_trip(build_c):
    text = """
TILE_EXPORT void repack(const u8_t *x, u8_t *codes, u8_t *y) {
  u8x16 u = tile_unpack4_u8x16(tile_load_u8x8(x));
  tile_store_u8x16(codes, u);
  tile_store_u8x8(y, tile_pack4_u8x16(u));
}
"""
    wanted = {"tile_pack4_u8x16", "tile_unpack4_u8x16", "tile_load_u8x8", "tile_store_u8x16"}
    library = build_c(abi_text() + pieces_for(wanted | {"tile_store_u8x8"}) + text, "-O1")
    x = np.array([0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE], np.uint8)
    codes, y = np.zeros(16, np.uint8), np.zeros(8, np.uint8)
    library.repack(*(ctypes.c_void_p(v.ctypes.data) for v in (x, codes, y)))
    assert list(codes) == list(range(16))
    assert list(y) == list(x)


def test_bytes_are_widened_from_any_number_of_lanes(build_c):
    kinds = [(t, n) for t in ("i8", "u8") for n in (2, 4, 8, 16, 32)]
    texts = [
        f"TILE_EXPORT void widen_{t}_{n}(const {t}_t *x, i32_t *y) "
        f"{{ tile_store_i32x{n}(y, __builtin_convertvector(tile_load_{t}x{n}(x), i32x{n})); }}"
        for t, n in kinds
    ]
    wanted = {f"tile_load_{t}x{n}" for t, n in kinds} | {f"tile_store_i32x{n}" for _, n in kinds}
    library = build_c("\n".join((abi_text(), pieces_for(wanted), *texts)), "-O3")
    for t, n in kinds:
        x = (np.arange(n) * 37 + 101).astype(C_TYPES[t])
        y = np.zeros(n, np.int32)
        getattr(library, f"widen_{t}_{n}")(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y)))
        assert list(y) == list(x), (t, n)


# -- the templates themselves


def test_pieces_are_what_is_needed_once_and_in_order():
    text = pieces_for({"tile_hmax_f32x4", "tile_hmax_f32x2"})
    for word in ("tile_max_f32x2(f32x2 a", "typedef float f32_t;", "#define TILE_FN"):
        assert text.count(word) == 1
    assert text.index("tile_hmax_f32x2(f32x2 v) {") < text.index("tile_hmax_f32x4(f32x4 v) {")
    assert "tile_exp" not in text
    assert pieces_for(["tile_hmax_f32x2", "tile_hmax_f32x4"]) == text


def test_open_widths_are_filled_in():
    assert pieces_for({"tile_abs_f32xN"}, (4, 8)) == pieces_for(
        {"tile_abs_f32x4", "tile_abs_f32x8"}
    )
    assert "typedef f32_t f32x8 " in pieces_for({"f32xN"}, (8,))


def test_a_scalar_form_computes_one_lane():
    assert "{ return tile_exp_f32x4((f32x4){x})[0]; }" in pieces_for({"tile_exp_f32"})
    assert "f64_t tile_pow_f64(f64_t x, f64_t y)" in pieces_for({"tile_pow_f64"})


def test_unknown_names_are_our_mistake():
    with pytest.raises(InternalError, match="has no tile_nothing_f32x4"):
        pieces_for({"tile_nothing_f32x4"})
    assert resolve("tile_nothing") is None


def test_the_most_specific_definition_wins():
    assert resolve("tile_hsum_f32x2").words == {"DT": "f32"}
    assert resolve("tile_hsum_f32x8").words == {"DT": "f32", "LANES": "8"}
    assert resolve("tile_max_f32x8").words == {"LANES": "8"}
    assert resolve("tile_load_f8e5m2x8").words == {"LANES": "8", "BYTE": "f8e5m2"}
    assert resolve("tile_load_i16x8").words == {"LANES": "8", "DT": "i16"}
    assert resolve("tile_tan_f32x8").words == {"LANES": "8", "DT": "f32", "CALL1": "tan"}


def test_no_template_word_is_left_in_any_definition():
    names = {f"tile_{n}_to_f32x8" for n in NARROW} | {f"tile_f32_to_{n}x8" for n in NARROW}
    text = templates.COMMENT.sub("", pieces_for(names | {"tile_pack_rows_bf16_pairx8"}))
    assert templates.TOKEN.findall(text) == []


def test_bf16_numbers_are_those_of_ml_dtypes(built):
    library = built(CASES[-1], (("tile_f32_to_bf16", 4, "f32", "bf16", 1),))
    x = whole(BITS[~np.isnan(BITS)])
    got = apply(library, "tile_f32_to_bf16", 4, "bf16", x).view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got, x.astype(ml_dtypes.bfloat16))
