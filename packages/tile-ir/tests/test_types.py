"""Element types: identity, spellings, widths, and the limits of every format."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir import types
from tile_ir.diag import InternalError, TileError
from tile_ir.types import ALL_DTYPES, MAX_LANES, Kind, dtype

FLOATS = [t for t in ALL_DTYPES if t.is_float]

SPELLINGS = {
    "bool": "bool",
    "short": "i16",
    "int": "i32",
    "uint": "u32",
    "long": "i64",
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint4": "u4",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "tfloat32": "tf32",
    "float8_e3m4": "f8e3m4",
    "float8_e4m3": "f8e4m3fn",
    "float8_e4m3b11fnuz": "f8e4m3b11fnuz",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
    "float6_e2m3fn": "f6e2m3fn",
    "float6_e3m2fn": "f6e3m2fn",
    "float4_e2m1fn": "f4e2m1fn",
    "float4_e2m1_unpacked": "f4e2m1fn_unpacked",
    "bfloat16x2": "bf16x2",
    "float4_e2m1fnx2": "f4e2m1fnx2",
    "float8_e4m3fnx8": "f8e4m3fnx8",
    "tfloat32x4": "tf32x4",
    "uint8x64": "u8x64",
    "halfx2": "f16x2",
    "f32x1": "f32",
}


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS.items())
def test_every_spelling_names_its_type(spelling, name):
    assert dtype(spelling).name == name
    assert dtype(spelling) is dtype(name)


def test_the_canonical_names_are_these():
    assert " ".join(map(str, ALL_DTYPES)) == (
        "bool i4 i8 i16 i32 i64 u4 u8 u16 u32 u64 f16 f32 f64 bf16 tf32 "
        "f8e4m3fn f8e4m3fnuz f8e4m3b11fnuz f8e3m4 f8e5m2 f8e5m2fnuz f8e8m0fnu "
        "f6e2m3fn f6e3m2fn f4e2m1fn f4e2m1fn_unpacked"
    )


def test_every_type_is_a_module_constant():
    constants = {getattr(types, "bool_" if t is dtype("bool") else t.name) for t in ALL_DTYPES}
    assert constants == set(ALL_DTYPES)


@given(st.sampled_from(ALL_DTYPES), st.integers(1, MAX_LANES))
def test_types_are_interned_however_they_are_made(scalar, lanes):
    vector = scalar.with_lanes(lanes)
    assert dtype(str(vector)) is vector
    assert vector.scalar is scalar
    assert vector.with_lanes(7) is scalar.with_lanes(7)
    assert pickle.loads(pickle.dumps(vector)) is vector
    assert copy.deepcopy(vector) is vector
    assert copy.copy(vector) is vector
    assert vector.storage_bits == lanes * scalar.storage_bits
    assert (vector.lanes, vector.bits, vector.kind) == (lanes, scalar.bits, scalar.kind)


def test_python_types():
    assert [dtype(t) for t in (bool, int, float)] == [types.bool_, types.i32, types.f32]
    assert dtype(types.f16) is types.f16


@pytest.mark.parametrize("name", ["bool", "int8", "int64", "uint16", "float16", "float64"])
def test_numpy_objects(name):
    assert dtype(np.dtype(name)) is dtype(name)
    assert dtype(np.dtype(name).type) is dtype(name)


def test_numpy_c_integer_types():
    assert dtype(np.longlong) is types.i64
    assert dtype(np.uintc) is types.u32


@pytest.mark.parametrize(
    "name", ["bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e8m0fnu", "float6_e2m3fn"]
)
def test_ml_dtypes_objects(name):
    scalar_type = getattr(ml_dtypes, name)
    assert dtype(scalar_type) is dtype(name)
    assert dtype(np.dtype(scalar_type)) is dtype(name)


def _torch_dtype(text):
    cls = type("dtype", (), {"__module__": "torch", "__str__": lambda self: f"torch.{text}"})
    return cls()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("float16", "f16"),
        ("bfloat16", "bf16"),
        ("uint8", "u8"),
        ("bool", "bool"),
        ("float8_e5m2fnuz", "f8e5m2fnuz"),
        ("float4_e2m1fn_x2", "f4e2m1fnx2"),
    ],
)
def test_torch_dtypes_are_known_by_their_text(text, name):
    assert dtype(_torch_dtype(text)).name == name


@pytest.mark.parametrize(
    "thing",
    [
        "",
        "float17",
        "Float32",
        "f32x0",
        "f32x04",
        "f32x-1",
        "f32x٤",
        "x4",
        "float32x2x2",
        f"f32x{MAX_LANES + 1}",
        "f32x99999",
        "float16 ",
        None,
        3,
        1.5,
        True,
        str,
        object,
        [],
        np.dtype("complex64"),
        np.dtype("datetime64[s]"),
        np.dtype([("a", "i4")]),
        np.zeros(3, np.float32),
        _torch_dtype("complex64"),
        _torch_dtype("qint8"),
    ],
    ids=lambda thing: getattr(thing, "name", None) or str(thing),
)
def test_what_is_no_type_is_refused(thing):
    with pytest.raises(TileError) as caught:
        dtype(thing)
    assert caught.value.code == "E0201"


def test_a_near_miss_is_suggested():
    with pytest.raises(TileError) as caught:
        dtype("flot16")
    assert caught.value.message == "unknown element type 'flot16'"
    assert caught.value.help.startswith("did you mean float16")


def test_an_ieee_e4m3_array_is_not_taken_for_e4m3fn():
    with pytest.raises(TileError) as caught:
        dtype(np.dtype(ml_dtypes.float8_e4m3))
    assert "infinities" in caught.value.notes[0]


def test_foreign_byte_order_is_refused():
    swapped = np.dtype(np.float32).newbyteorder("S")
    with pytest.raises(TileError, match="byte order"):
        dtype(swapped)


def test_a_users_class_is_not_taken_for_numpys():
    impostor = type("float32", (), {})
    with pytest.raises(TileError, match="E0201"):
        dtype(impostor)


WIDTHS = {
    # name: bits, bits in memory
    "bool": (1, 8),
    "i4": (4, 4),
    "u64": (64, 64),
    "bf16": (16, 16),
    "tf32": (19, 32),
    "f8e8m0fnu": (8, 8),
    "f6e2m3fn": (6, 8),
    "f4e2m1fn": (4, 4),
    "f4e2m1fn_unpacked": (4, 8),
}


@pytest.mark.parametrize(("name", "widths"), WIDTHS.items())
def test_widths(name, widths):
    assert (dtype(name).bits, dtype(name).storage_bits) == widths


@pytest.mark.parametrize(
    ("name", "size"), [("i4", 1), ("i4x2", 1), ("f4e2m1fnx3", 2), ("f32x4", 16), ("boolx8", 8)]
)
def test_storage_bytes_round_up(name, size):
    assert dtype(name).storage_bytes == size


def test_kinds():
    by_kind = {k: {t.name for t in ALL_DTYPES if t.kind is k} for k in Kind}
    assert by_kind[Kind.BOOL] == {t.name for t in ALL_DTYPES if t.is_bool} == {"bool"}
    assert by_kind[Kind.INT] == {"i4", "i8", "i16", "i32", "i64"}
    assert by_kind[Kind.UINT] == {"u4", "u8", "u16", "u32", "u64"}
    assert {t.name for t in ALL_DTYPES if t.is_int} == by_kind[Kind.INT] | by_kind[Kind.UINT]
    unsigned = {t.name for t in ALL_DTYPES if not t.is_signed}
    assert unsigned == by_kind[Kind.UINT] | {"bool", "f8e8m0fnu"}


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("bool", 0, 1),
        ("i4", -8, 7),
        ("u4", 0, 15),
        ("i8", -128, 127),
        ("i64", -(2**63), 2**63 - 1),
        ("u64", 0, 2**64 - 1),
        ("f16", -65504.0, 65504.0),
        ("f8e8m0fnu", 2.0**-127, 2.0**127),
    ],
)
def test_ranges(name, low, high):
    assert (dtype(name).min_value, dtype(name).max_value) == (low, high)


LIMITS = {
    # name: largest finite, smallest normal, gap above 1
    "f16": (65504.0, 2.0**-14, 2.0**-10),
    "f32": ((2 - 2.0**-23) * 2.0**127, 2.0**-126, 2.0**-23),
    "f64": (np.finfo(np.float64).max, 2.0**-1022, 2.0**-52),
    "bf16": ((2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-7),
    "tf32": ((2 - 2.0**-10) * 2.0**127, 2.0**-126, 2.0**-10),
    "f8e4m3fn": (448.0, 2.0**-6, 2.0**-3),
    "f8e4m3fnuz": (240.0, 2.0**-7, 2.0**-3),
    "f8e4m3b11fnuz": (30.0, 2.0**-10, 2.0**-3),
    "f8e3m4": (15.5, 2.0**-2, 2.0**-4),
    "f8e5m2": (57344.0, 2.0**-14, 2.0**-2),
    "f8e5m2fnuz": (57344.0, 2.0**-15, 2.0**-2),
    "f8e8m0fnu": (2.0**127, 2.0**-127, 1.0),
    "f6e2m3fn": (7.5, 1.0, 2.0**-3),
    "f6e3m2fn": (28.0, 2.0**-2, 2.0**-2),
    "f4e2m1fn": (6.0, 1.0, 0.5),
    "f4e2m1fn_unpacked": (6.0, 1.0, 0.5),
}


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_float_limits(t):
    assert (t.max_finite, t.smallest_normal, t.eps) == LIMITS[t.name]


@pytest.mark.parametrize(
    ("t", "traits"),
    [
        (types.f16, (True, True, True)),
        (types.f8e5m2, (True, True, True)),
        (types.f8e3m4, (True, True, True)),
        (types.f8e4m3fn, (False, True, True)),
        (types.f8e4m3fnuz, (False, True, False)),
        (types.f8e8m0fnu, (False, True, False)),
        (types.f6e3m2fn, (False, False, True)),
        (types.f4e2m1fn, (False, False, True)),
    ],
    ids=str,
)
def test_special_values_of_formats(t, traits):
    fmt = t.float_format
    assert (fmt.has_inf, fmt.has_nan, fmt.has_negative_zero) == traits


def test_an_integer_has_no_format():
    assert types.i32.format is None
    with pytest.raises(InternalError, match="i32"):
        _ = types.i32.eps
