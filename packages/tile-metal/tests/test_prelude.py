"""The functions of the prelude, run on the host, against the language's rules."""

import ctypes

import mpmath
import numpy as np
import pytest

from tile_ir.diag import InternalError
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import dtype
from tile_metal.prelude.index import PRELUDE, defined_names, mentioned, pieces_for
from tile_metal.toolchain import check_source

NARROW = [
    "f16",
    "bf16",
    "tf32",
    "f8e4m3fn",
    "f8e5m2",
    "f8e4m3fnuz",
    "f8e5m2fnuz",
    "f8e8m0fnu",
    "f6e2m3fn",
    "f6e3m2fn",
    "f4e2m1fn",
]
C_TYPES = {"i32": "int", "u32": "uint", "i64": "long", "u64": "ulong"}
CODE = {"f16": "ushort", "bf16": "ushort", "tf32": "float"}
ADDS = """
struct adds {
  template <class A, class B>
  static auto of(A a, B b) { return (A)(a + b); }
};
"""
LANES = "tile_store(z, tile_map<adds>(tile_load<4>(x), tile_load<4>(y)))"
ULP = {"erf": 1.5, "log1p": 2.5, "hypot": 2.0}


def loop(name, out, source, body):
    return (
        f'extern "C" void {name}({out} *z, const {source} *x, const {source} *y, long n) {{\n'
        f"  for (long i = 0; i < n; i++) {body};\n}}\n"
    )


@pytest.fixture(scope="module")
def library(on_host):
    text = ""
    for kind in NARROW:
        code = CODE.get(kind, "uchar")
        text += loop(f"encode_{kind}", code, "float", f"z[i] = tile_f32_to_{kind}(x[i])")
        if kind != "tf32":
            text += loop(f"decode_{kind}", "float", code, f"z[i] = tile_{kind}_to_f32(x[i])")
    for kind, c in C_TYPES.items():
        text += loop(
            f"odd_{kind}", "ushort", c, f"z[i] = tile_f32_to_f16(tile_{kind}_to_odd(x[i]))"
        )
        text += loop(f"to_{kind}", c, "float", f"z[i] = tile_f32_to_{kind}(x[i])")
    for op in ("truncdiv", "truncmod", "floordiv", "floormod", "ceildiv"):
        text += loop(op, "int", "int", f"z[i] = tile_{op}<int>(x[i], y[i])")
    for name in (*ULP, "nextafter", "max", "min"):
        two = name in ("hypot", "nextafter", "max", "min")
        text += loop(name, "float", "float", f"z[i] = tile_{name}_f32(x[i]{', y[i]' * two})")
    for name in ("popcount", "clz"):
        for bits, c in ((8, "uchar"), (32, "uint"), (64, "ulong")):
            text += loop(f"{name}_{bits}", "int", c, f"z[i] = tile_{name}<{bits}>((ulong)x[i])")
    text += (
        ADDS
        + loop("atomic_char", "uchar", "uchar", "tile_atomic_loop<uchar, adds>(&z[1], x[i])")
        + loop("atomic_float", "float", "float", "tile_atomic_loop<float, adds>(&z[1], x[i])")
        + loop("nibble", "uchar", "uchar", "tile_store_nibble(z, i, tile_load_nibble(x, i) + 1)")
        + loop("moved", "uchar", "uchar", "tile_move_or_zero<8>(z + 8 * i, x + 8 * i, i != 1)")
        + loop("lanes", "float", "float", LANES)
        + loop("folded", "float", "float", "z[i] = tile_fold<adds>(tile_load<8>(x))")
    )
    return on_host(text)


def applied(library, name, out, x, y=None, count=None):
    x = np.ascontiguousarray(x)
    y = x if y is None else np.ascontiguousarray(y)
    z = np.zeros(out[1], out[0]) if isinstance(out, tuple) else np.empty(x.size, out)
    places = [ctypes.c_void_p(a.ctypes.data) for a in (z, x, y)]
    getattr(library, name)(*places, ctypes.c_long(x.size if count is None else count))
    return z


def floats():
    rng = np.random.default_rng(3)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = rng.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
        near = rng.normal(size=4000).astype(np.float32) * 2.0 ** rng.integers(-30, 20, 4000)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 448.0, 464.0, 65504.0, 65520.0, 2.0**-24]
    found = np.concatenate([spread, near.astype(np.float32), np.float32(special)])
    # The device may count what is below the normal f32 as zero.
    return found[~((np.abs(found) < 2.0**-126) & (found != 0))]


def same(got, want):
    got, want = np.asarray(got, np.float32), np.asarray(want, np.float32)
    ok = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    return bool(ok.all())


@pytest.mark.parametrize("kind", NARROW)
def test_floats_become_narrow_as_the_language_says(library, kind):
    x = floats()
    target = dtype(kind)
    with np.errstate(all="ignore"):
        want = np.asarray(convert_array(x, dtype("f32"), target))
    code = {"ushort": np.uint16, "float": np.float32}.get(CODE.get(kind), np.uint8)
    got = applied(library, f"encode_{kind}", code, x)
    if kind == "tf32":
        assert same(got, want)
        return
    values = np.asarray(convert_array(got.view(to_numpy_dtype(target)), target, dtype("f32")))
    assert same(values, np.asarray(convert_array(want, target, dtype("f32"))))


@pytest.mark.parametrize("kind", [k for k in NARROW if k != "tf32"])
def test_every_code_is_read_right(library, kind):
    target = dtype(kind)
    codes = np.arange(1 << target.slot_bits, dtype=np.uint32)
    if target.bits < 8:
        codes = codes[: 1 << target.bits]
    codes = codes.astype(np.uint16 if target.slot_bits == 16 else np.uint8)
    want = np.asarray(convert_array(codes.view(to_numpy_dtype(target)), target, dtype("f32")))
    assert same(applied(library, f"decode_{kind}", np.float32, codes), want)


@pytest.mark.parametrize("kind", sorted(C_TYPES))
def test_integers_are_rounded_once(library, kind):
    rng = np.random.default_rng(5)
    info = np.iinfo(to_numpy_dtype(dtype(kind)))
    near = [2049, 4099, 8191, 65503, 65519, 65520, 2**20 + 1, 2**24 + 1, info.max, info.min]
    x = np.array([n for n in near if n <= info.max], info.dtype)
    x = np.concatenate([x, rng.integers(0, 70000, 5000).astype(info.dtype)])
    want = np.asarray(convert_array(x, dtype(kind), dtype("f16")))
    got = applied(library, f"odd_{kind}", np.uint16, x)
    assert (got == want.view(np.uint16)).all()


@pytest.mark.parametrize("kind", sorted(C_TYPES))
def test_floats_become_the_nearest_integer_of_the_range(library, kind):
    x = floats()
    with np.errstate(all="ignore"):
        want = np.asarray(convert_array(x, dtype("f32"), dtype(kind)))
    assert (applied(library, f"to_{kind}", want.dtype, x) == want).all()


def test_integer_division_rounds_as_asked(library):
    grid = np.array([-(2**31), -7, -2, -1, 1, 2, 7, 2**31 - 1], np.int64)
    a, b = (g.ravel() for g in np.meshgrid(np.append(grid, 0), grid))
    floor, exact = a // b, np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b)
    wanted = {
        "truncdiv": exact,
        "truncmod": a - exact * b,
        "floordiv": floor,
        "floormod": a - floor * b,
        "ceildiv": -(-a // b),
    }
    for name, want in wanted.items():
        got = applied(library, name, np.int32, a.astype(np.int32), b.astype(np.int32))
        assert (got == want.astype(np.int32)).all(), name


def test_bits_are_counted(library):
    for bits, kind in ((8, np.uint8), (32, np.uint32), (64, np.uint64)):
        x = np.array([0, 1, 2, 3, 2 ** (bits - 1), 2**bits - 1], kind)
        ones = [int(v).bit_count() for v in x]
        zeros = [bits - int(v).bit_length() for v in x]
        assert applied(library, f"popcount_{bits}", np.int32, x).tolist() == ones
        assert applied(library, f"clz_{bits}", np.int32, x).tolist() == zeros


@pytest.mark.parametrize("name", sorted(ULP))
def test_accuracy(library, name):
    rng = np.random.default_rng(11)
    low, high = {"log1p": (-0.99, 1e5), "erf": (-6.0, 6.0)}.get(name, (-1e4, 1e4))
    tiny = rng.uniform(-1, 1, 300) * 2.0 ** rng.integers(-20, 0, 300)
    x = np.concatenate([rng.uniform(low, high, 300), tiny]).astype(np.float32)
    y = np.roll(x, 1)
    got = applied(library, name, np.float32, x, y)
    with mpmath.workdps(40):
        wide = [[mpmath.mpf(float(v)) for v in array] for array in (x, y)]
        function = getattr(mpmath, name)
        want = [
            function(*p) if name == "hypot" else function(p[0]) for p in zip(*wide, strict=True)
        ]
        errors = [
            float(abs(mpmath.mpf(float(g)) - w)) / float(np.spacing(np.float32(abs(float(w)))))
            for g, w in zip(got, want, strict=True)
        ]
    assert max(errors) <= ULP[name]


def test_limits(library):
    inf, nan = np.inf, np.nan
    cases = {
        "erf": ([inf, -inf, -0.0, nan], None, [1, -1, -0.0, nan]),
        "log1p": ([inf, -1.0, 0.0, nan], None, [inf, -inf, 0, nan]),
        "hypot": ([inf, nan, 0.0, 3e38], [nan, -inf, 0.0, 0.0], [inf, inf, 0, 3e38]),
        "max": ([1, nan, 2, -inf], [2, 1, nan, inf], [2, nan, nan, inf]),
        "min": ([1, nan, 2, -inf], [2, 1, nan, inf], [1, nan, nan, -inf]),
    }
    for name, (x, y, want) in cases.items():
        y = None if y is None else np.float32(y)
        got = applied(library, name, np.float32, np.float32(x), y)
        np.testing.assert_array_equal(got, np.float32(want), err_msg=name)


def test_neighbours(library):
    x = np.float32([1, 1, -1, -1, 0, 0, -0.0, 1, 2.0**-126, np.nan])
    y = np.float32([2, 0, 0, -2, 1, -1, 0, 1, 0, 0])
    got = applied(library, "nextafter", np.float32, x, y)
    assert same(got, np.nextafter(x, y))


def test_less_than_a_word_is_exchanged_inside_its_word(library):
    x = np.array([250, 3, 4], np.uint8)
    assert applied(library, "atomic_char", (np.uint8, 4), x).tolist() == [0, 1, 0, 0]
    y = np.float32([1.5, 2.0])
    assert applied(library, "atomic_float", (np.float32, 4), y).tolist() == [0, 3.5, 0, 0]


def test_halves_of_bytes_and_guarded_moves(library):
    x = np.array([0x21, 0x43], np.uint8)
    assert applied(library, "nibble", (np.uint8, 2), x, count=4).tolist() == [0x32, 0x54]
    y = np.arange(1, 25, dtype=np.uint8)
    got = applied(library, "moved", (np.uint8, 24), y, count=3)
    assert got.tolist() == [*range(1, 9), *[0] * 8, *range(17, 25)]


def test_vectors_are_computed_lane_by_lane(library):
    x = np.arange(8, dtype=np.float32)
    got = applied(library, "lanes", (np.float32, 4), x, x * 10, count=1)
    assert got.tolist() == [0, 11, 22, 33]
    assert applied(library, "folded", (np.float32, 1), x, count=1).tolist() == [28]


def test_only_what_is_mentioned_is_printed_and_needs_come_first():
    text = pieces_for(["tile_f32_to_bf16"])
    assert text.index("#define TILE_FN") < text.index("tile_isnan_f32") < text.index("f32_to_bf16")
    assert "tile_shuffle" not in text
    assert pieces_for(["tile_load", "tile_map"]) == pieces_for(["tile_map", "tile_load"])


def test_every_name_of_the_prelude_has_all_that_it_needs(checker):
    names = {n for n in defined_names() if "f64" not in n}
    assert len(names) > 90
    text = pieces_for(names)
    assert set(mentioned(text)) <= names
    check_source("#include <metal_stdlib>\n" + text, checker)


def test_an_unknown_name_is_our_defect():
    with pytest.raises(InternalError, match="the Metal prelude has no tile_nothing") as caught:
        PRELUDE.pieces_for(["tile_nothing"])
    assert caught.value.code == "E3090"
