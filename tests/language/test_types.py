"""Every element type by every name that it has: values go in, and come out as its library says."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.numerics.array import to_numpy_dtype

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e3m4",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
)
ALIASES = {
    "short": np.int16,
    "int": np.int32,
    "long": np.int64,
    "uint": np.uint32,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "boolean": np.bool_,
}


def converted(dtype, source="float32", count=64):
    """A kernel that converts a vector."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), source)):
        B = T.empty((count,), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(count):
                B[i] = T.cast(A[i], dtype)
        return B

    return kernel


def storage_of(name):
    """The dtype of arrays that hold a type."""
    return to_numpy_dtype(T.dtype(name).ir)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_hold_their_range(run, name):
    wide = "int64" if name != "uint64" else "uint64"
    bounds = np.iinfo(name)
    inside = np.array([bounds.min, bounds.max, 0, 1, bounds.max // 3] * 12 + [7] * 4, wide)
    (b,) = run(converted(getattr(T, name), wide), inside)
    np.testing.assert_array_equal(b, inside.astype(name))
    assert b.dtype == name


@pytest.mark.parametrize("name", INTEGERS[:-1])
def test_integers_that_are_too_wide_keep_their_low_bits(run, rng, name):
    a = rng.integers(-(2**62), 2**62, 64)
    (b,) = run(converted(getattr(T, name), "int64"), a)
    np.testing.assert_array_equal(b, a.astype(name))


@pytest.mark.parametrize("name", INTEGERS[:6])
def test_floats_lose_their_fraction(run, rng, name):
    bounds = np.iinfo(name)
    a = rng.uniform(max(bounds.min, -9000), min(bounds.max, 9000), 64).astype(np.float32)
    (b,) = run(converted(getattr(T, name)), a)
    np.testing.assert_array_equal(b, np.trunc(a).astype(name))


@pytest.mark.parametrize("name", FLOATS)
def test_floats_round_to_nearest_even(run, rng, name):
    dtype = storage_of(name)
    a = rng.uniform(-12, 12, 64).astype(np.float32)
    a[:4] = 0, 1, 1.0625, -1.1875  # halfway between two neighbours of four significant bits
    (b,) = run(converted(getattr(T, name)), a)
    np.testing.assert_array_equal(b.astype(np.float64), a.astype(dtype).astype(np.float64))
    (back,) = run(converted(T.float32, getattr(T, name)), b)
    np.testing.assert_array_equal(back, b.astype(np.float32))


@pytest.mark.parametrize("name", ALIASES)
def test_second_names(run, rng, name):
    a = rng.integers(0, 2, 64).astype(np.int32)
    (b,) = run(converted(getattr(T, name), T.int32), a)
    assert b.dtype == ALIASES[name]
    np.testing.assert_array_equal(b, a.astype(ALIASES[name]))


def test_a_name_that_two_vendors_mean_differently(run, rng):
    assert T.float8_e4m3 is T.float8_e4m3fn
    a = rng.uniform(-400, 400, 64).astype(np.float32)
    (b,) = run(converted(T.float8_e4m3), a)
    want = a.astype(storage_of("float8_e4m3fn"))
    np.testing.assert_array_equal(b.astype(np.float32), want.astype(np.float32))


def test_products_in_tf32(run, rng):
    """Operands keep ten bits of their fraction; small whole numbers are exact."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), T.float32), B: T.Tensor((32, 32), T.float32)):
        C = T.empty((32, 32), T.float32)
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), T.tfloat32)
            b = T.alloc_shared((32, 32), T.tfloat32)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)
        return C

    a, b = (rng.integers(-30, 31, (32, 32)).astype(np.float32) for _ in range(2))
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, a @ b)
    a[0, 0] = 1 + 2.0**-12  # rounds to 1
    (c,) = run(kernel, a, np.eye(32, dtype=np.float32))
    assert c[0, 0] == 1


NARROW = {"float4_e2m1fn": [0, 0.5, 1, 1.5, 2, 3, 4, 6], "float4_e2m1_unpacked": [0, 1, 3, 6]}


@pytest.mark.parametrize("name", NARROW)
def test_floats_of_four_bits_on_chip(run, name):
    """Each of their values survives, what lies between goes to the nearest."""
    kind = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((64,), T.float32)):
        B = T.empty((64,), T.float32)
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), kind)
            T.copy(A, s)
            T.copy(s, B)
        return B

    values = NARROW[name]
    a = np.resize(np.array([*values, *(-v for v in values)], np.float32), 64)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a)
    (b,) = run(kernel, np.full(64, 5.25, np.float32))
    np.testing.assert_array_equal(b, np.full(64, 6, np.float32))


VECTORS = (
    "float32x2",
    "float32x4",
    "float32x8",
    "float16x2",
    "float16x4",
    "float16x8",
    "int32x2",
    "int32x4",
    "uint8x4",
    "uint8x8",
    "bfloat16x2",
    "float8_e4m3fnx8",
    "float8_e5m2x4",
    "int16x16",
    "int64x2",
)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(run, rng, name):
    """One statement for all lanes: loaded, doubled lane by lane, stored."""
    kind = getattr(T, name)
    lanes, dtype = kind.lanes, name.rpartition("x")[0]

    @T.prim_func
    def kernel(A: T.Tensor((8 * lanes,), T.float32)):
        B = T.empty((8 * lanes,), T.float32)
        C = T.empty((8 * lanes,), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                place = T.Ramp(i * lanes, 1, lanes)
                narrow = T.cast(A[place], kind)
                C[place] = narrow
                B[place] = T.cast(narrow, getattr(T, f"float32x{lanes}")) * T.Broadcast(2.0, lanes)
        return B, C

    bits = getattr(T, dtype).bits
    assert (kind.lanes, kind.bits, kind.bytes) == (lanes, bits, bits * lanes // 8)
    a = rng.integers(0, 9, 8 * lanes).astype(np.float32)
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, 2 * a)
    np.testing.assert_array_equal(c.astype(np.float32), a)


def test_vectors_of_four_bit_floats(run):
    kind = T.float4_e2m1fnx2
    assert (kind.lanes, kind.bits, kind.bytes) == (2, 4, 1)

    @T.prim_func
    def kernel(A: T.Tensor((32,), T.float32)):
        B = T.empty((32,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(16):
                place = T.Ramp(i * 2, 1, 2)
                B[place] = T.cast(T.cast(A[place], kind), T.float32x2)
        return B

    a = np.resize(np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -6, -0.5, 5.25, 100], np.float32), 32)
    want = np.where(np.abs(a) > 5, np.copysign(6, a), a)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, want)
