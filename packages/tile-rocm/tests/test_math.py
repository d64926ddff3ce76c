"""The functions of the prelude, run on the host, against mpmath and the language's rules."""

import ctypes

import ml_dtypes
import mpmath
import numpy as np
import pytest

from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import dtype
from tile_rocm.intrinsics.functions import COMPILER_F32, OWN_F32, OWN_F64, ULP

TWO = frozenset({"pow", "fmod", "atan2", "hypot", "nextafter"})
C_TYPES = {"f32": "float", "f64": "double"}
ARRAYS = {"f32": np.float32, "f64": np.float64}
F64_ULP = {
    **dict.fromkeys(("exp", "exp2", "log", "log2", "log10"), 1.5),
    **dict.fromkeys(
        ("sin", "cos", "exp10", "log1p", "tan", "atan", "atan2", "tanh", "erf", "hypot"), 2.5
    ),
    **dict.fromkeys(("asin", "acos", "cosh", "acosh", "asinh", "atanh", "sinh"), 4.0),
    "rsqrt": 1.5,
    "pow": 1.5,
}
REFERENCE = {
    "exp2": lambda x: mpmath.power(2, x),
    "exp10": lambda x: mpmath.power(10, x),
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "pow": mpmath.power,
}
RANGES = {
    **dict.fromkeys(("exp", "sinh", "cosh"), (-80.0, 80.0)),
    **dict.fromkeys(("exp2", "tanh"), (-120.0, 120.0)),
    "exp10": (-36.0, 36.0),
    **dict.fromkeys(("asin", "acos", "atanh"), (-1.0, 1.0)),
    **dict.fromkeys(("log", "log2", "log10", "rsqrt"), (1e-30, 1e30)),
    "acosh": (1.0, 1e6),
    "log1p": (-0.999, 1e6),
    "erf": (-6.5, 6.5),
}


@pytest.fixture(scope="module")
def library(on_host):
    """`NAME_TYPE(x, y, z, n)`: z[i] = NAME(x[i], y[i]) for every function of the prelude."""
    text = ""
    for kind, names in (("f32", OWN_F32), ("f64", OWN_F64)):
        c = C_TYPES[kind]
        for name in sorted(names):
            call = f"tile_{name}_{kind}(x[i]{', y[i]' if name in TWO else ''})"
            text += f'extern "C" void {name}_{kind}({c} *x, {c} *y, {c} *z, long n) {{\n'
            text += f"  for (long i = 0; i < n; i++) z[i] = {call};\n}}\n"
    return on_host(text + conversions())


def applied(library, name, kind, x, y=None):
    x = np.ascontiguousarray(x, ARRAYS[kind])
    y = x if y is None else np.ascontiguousarray(y, ARRAYS[kind])
    z = np.empty_like(x)
    places = [ctypes.c_void_p(a.ctypes.data) for a in (x, y, z)]
    getattr(library, f"{name}_{kind}")(*places, ctypes.c_long(x.size))
    return z


def arguments(name, kind, count=400):
    rng = np.random.default_rng(7)
    low, high = RANGES.get(name, (-50.0, 50.0))
    x = rng.uniform(low, high, count)
    if low > 0:
        x = np.exp(rng.uniform(np.log(low), np.log(high), count))
    near = rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-20, 1, count)
    if name in ("acosh", "log", "log2", "log10"):
        near = 1 + np.abs(near)
    x = np.concatenate([x, near if low <= 0 or name != "rsqrt" else np.abs(near)])
    if name in ("sin", "cos", "tan"):
        x = np.concatenate([x, rng.uniform(-1, 1, count) * 2.0 ** rng.integers(1, 126, count)])
    return x.astype(ARRAYS[kind])


def error_ulp(got, want, kind):
    """The largest distance in units in the last place of the right results."""
    wide = [mpmath.mpf(float(g)) for g in got]
    spaces = [float(np.spacing(np.abs(ARRAYS[kind](float(w))))) for w in want]
    return max(float(abs(g - w)) / s for g, w, s in zip(wide, want, spaces, strict=True))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(OWN_F64 - {"fmod", "nextafter"}))
def test_accuracy(library, name, kind):
    if kind == "f32" and name in COMPILER_F32:
        assert name not in OWN_F32
        return
    x = arguments(name, kind)
    y = np.roll(x, 1)
    if name == "pow":
        x, y = np.abs(x) + ARRAYS[kind](0.001), y / ARRAYS[kind](4)
    got = applied(library, name, kind, x, y)
    reference = REFERENCE.get(name) or getattr(mpmath, name)
    with mpmath.workdps(60):
        pairs = [(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y, strict=True)]
        want = [reference(*pair) if name in TWO else reference(pair[0]) for pair in pairs]
        error = error_ulp(got, want, kind)
    assert error <= (ULP if kind == "f32" else F64_ULP)[name]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_limits(library, kind):
    inf, nan = float("inf"), float("nan")
    cases = {
        "tanh": ([inf, -inf, 0.0, nan], [1, -1, 0, nan]),
        "erf": ([inf, -inf, -0.0, nan], [1, -1, -0.0, nan]),
        "sin": ([inf, -0.0, nan], [nan, -0.0, nan]),
        "atan": ([inf, -inf, nan], [np.pi / 2, -np.pi / 2, nan]),
        "asin": ([1.0, -1.0, 1.5], [np.pi / 2, -np.pi / 2, nan]),
        "acos": ([1.0, -1.0, 1.5], [0.0, np.pi, nan]),
        "atanh": ([1.0, -1.0, 2.0], [inf, -inf, nan]),
        "acosh": ([1.0, inf, 0.5], [0.0, inf, nan]),
        "sinh": ([inf, -1000.0, nan], [inf, -inf, nan]),
        "cosh": ([inf, -1000.0, nan], [inf, inf, nan]),
        "log1p": ([-1.0, inf, -2.0, -0.0], [-inf, inf, nan, -0.0]),
        "rsqrt": ([0.0, inf, -1.0], [inf, 0.0, nan]),
    }
    if kind == "f64":
        cases |= {
            "exp": ([inf, -inf, nan, 0.0], [inf, 0.0, nan, 1.0]),
            "exp2": ([5000.0, -5000.0, -1074.0], [inf, 0.0, 5e-324]),
            "exp10": ([400.0, -400.0, 2.0], [inf, 0.0, 100.0]),
            "log": ([0.0, inf, -1.0, 5e-324], [-inf, inf, nan, -744.4400719213812]),
            "log2": ([0.0, inf, -1.0, 8.0], [-inf, inf, nan, 3.0]),
            "log10": ([0.0, inf, -1.0, 1000.0], [-inf, inf, nan, 3.0]),
        }
    for name, (x, want) in cases.items():
        got = applied(library, name, kind, np.array(x))
        assert got.tolist() == pytest.approx(want, rel=1e-6, nan_ok=True), name
        assert np.array_equal(np.signbit(got), np.signbit(want)) or np.isnan(want).any(), name


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["pow", "atan2", "fmod", "hypot", "nextafter"])
def test_pairs_of_special_values_are_those_of_c(library, name, kind):
    one = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, -3.0, 1e30, float("inf"), -float("inf"), np.nan]
    x, y = (a.ravel().astype(ARRAYS[kind]) for a in np.meshgrid(one, one))
    got = applied(library, name, kind, x, y)
    numpy_name = {"pow": "power", "atan2": "arctan2"}.get(name, name)
    with np.errstate(all="ignore"):
        want = getattr(np, numpy_name)(x, y)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    known = ~np.isnan(want)
    assert np.array_equal(np.signbit(got[known]), np.signbit(want[known]))


def test_the_remainder_is_exact(library):
    rng = np.random.default_rng(1)
    for kind, top in (("f32", 60), ("f64", 600)):
        x = (rng.uniform(1, 2, 300) * 2.0 ** rng.integers(0, top, 300)).astype(ARRAYS[kind])
        y = rng.uniform(0.1, 9, 300).astype(ARRAYS[kind])
        np.testing.assert_array_equal(applied(library, "fmod", kind, x, y), np.fmod(x, y))


NARROW = (
    "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu", "f6e2m3fn",
    "f4e2m1fn", "f8e3m4", "f8e4m3b11fnuz",
)  # fmt: skip
INTEGERS = {"i32": "int", "u32": "unsigned", "i64": "long long", "u64": "unsigned long long"}


def code_type(name):
    return "unsigned short" if name in ("f16", "bf16") else "unsigned char"


def loop(call, function, source, result):
    return (
        f'extern "C" void {call}({source} *x, {result} *z, long n) {{\n'
        f"  for (long i = 0; i < n; i++) z[i] = {function}(x[i]);\n}}\n"
    )


def conversions():
    text = ""
    for name in NARROW:
        for kind in ("f32", "f64"):
            call = f"{kind}_to_{name}"
            text += loop(call, f"tile_{call}", C_TYPES[kind], code_type(name))
        text += loop(f"{name}_to_f32", f"tile_{name}_to_f32", code_type(name), "float")
    for name, c in INTEGERS.items():
        for kind in ("f32", "f64"):
            call = f"{kind}_to_{name}"
            text += loop(call, f"tile_{call}", C_TYPES[kind], c)
    for name in ("i64", "u64"):
        text += loop(f"{name}_wide", f"tile_wide_{name}", INTEGERS[name], "double")
    return text


def converted(library, call, x, result):
    z = np.empty(x.shape, result)
    places = [ctypes.c_void_p(a.ctypes.data) for a in (np.ascontiguousarray(x), z)]
    getattr(library, call)(*places, ctypes.c_long(x.size))
    return z


def floats(kind):
    rng = np.random.default_rng(3)
    one = ARRAYS[kind]
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        448,
        449,
        464,
        465,
        57344,
        61440,
        65504,
        65520,
        7.5,
    ]
    ties = rng.integers(-4096, 4096, 4000) * 2.0 ** rng.integers(-30, 8, 4000)
    random = rng.standard_normal(4000) * 2.0 ** rng.integers(-45, 20, 4000)
    return np.concatenate([special, ties, random]).astype(one)


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_narrow_floats_are_rounded_by_the_languages_rules(library, name, kind):
    x = floats(kind)
    size = np.uint16 if name in ("f16", "bf16") else np.uint8
    got = converted(library, f"{kind}_to_{name}", x, size)
    want = convert_array(x, dtype(kind), dtype(name))
    want = np.ascontiguousarray(want).view(size)
    valid = ~np.isnan(x)
    np.testing.assert_array_equal(got[valid], want[valid])


@pytest.mark.parametrize("name", NARROW)
def test_every_code_is_read_back(library, name):
    size = np.uint16 if name in ("f16", "bf16") else np.uint8
    codes = np.arange(2 ** dtype(name).bits, dtype=np.uint32).astype(size)
    got = converted(library, f"{name}_to_f32", codes, np.float32)
    want = codes.view(to_numpy_dtype(dtype(name))).astype(np.float32)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", sorted(INTEGERS))
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_integers_take_the_nearest_bound(library, name, kind):
    x = np.array(
        [
            0.0,
            1.9,
            -1.9,
            3e9,
            -3e9,
            2.0**31,
            -(2.0**31),
            2.0**32,
            1e19,
            -1e19,
            2.0**63,
            1e30,
            np.nan,
        ],
        ARRAYS[kind],
    )
    result = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
    got = converted(library, f"{kind}_to_{name}", x, result)
    limits = np.iinfo(result)
    want = [
        0 if v != v else min(max(int(min(max(v, -1e25), 1e25)), limits.min), limits.max) for v in x
    ]
    assert got.tolist() == want


@pytest.mark.parametrize("name", ["i64", "u64"])
def test_wide_integers_keep_their_ties_apart(library, name):
    rng = np.random.default_rng(5)
    result = np.int64 if name == "i64" else np.uint64
    base = rng.integers(1, 1 << 11, 200).astype(np.uint64) << np.uint64(51)
    x = np.concatenate([base + np.uint64(1), base, base - np.uint64(1)]).astype(result)
    wide = converted(library, f"{name}_wide", x, np.float64)
    with mpmath.workprec(8):
        want = [float(+mpmath.mpf(int(v))) for v in x]
    narrow = converted(library, "f64_to_bf16", wide, np.uint16).view(ml_dtypes.bfloat16)
    assert narrow.astype(np.float64).tolist() == want
