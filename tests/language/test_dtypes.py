"""Every element type: stored, converted, computed with, reduced and multiplied."""

import ml_dtypes
import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.numerics import convert
from tile_ir.numerics.array import to_numpy_dtype

N = T.dynamic("N")
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
NARROW = [
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e3m4",
    "float8_e5m2",
    "float8_e5m2fnuz",
]


def container(name):
    return to_numpy_dtype(T.dtype(name).ir)


def values(rng, name, shape):
    """Values of a type over its whole range, its extremes among them."""
    dtype = container(name)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    if name in INTEGERS:
        info = np.iinfo(dtype)
        made = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        made.flat[:3] = [info.min, info.max, 1]
        return made
    info = ml_dtypes.finfo(dtype)
    scale = min(float(info.max), 1e4)
    made = (rng.standard_normal(shape) * scale / 4).clip(-scale, scale).astype(dtype)
    made.flat[:5] = np.array([0, 1, -1, float(info.max), float(info.min)]).astype(dtype)
    return made


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS, *NARROW])
def test_copies_keep_every_bit(run, rng, name):
    """Through shared memory and registers, and by elements."""

    @T.prim_func
    def kernel(A: T.Tensor((N, 24), name)):
        B = T.empty((N, 24), name)
        C = T.empty((N, 24), name)
        with T.Kernel(T.ceildiv(N, 8)) as bx:
            x = T.alloc_shared((8, 24), name)
            y = T.alloc_fragment((8, 24), name)
            T.copy(A[bx * 8, 0], x)
            T.copy(x, y)
            T.copy(y, B[bx * 8, 0])
            for i, j in T.Parallel(8, 24):
                C[bx * 8 + i, j] = A[bx * 8 + i, j]
        return B, C

    a = values(rng, name, (19, 24))
    for got in run(kernel, a):
        assert got.tobytes() == a.tobytes()


TARGETS = ["bool", "int8", "uint8", "int32", "int64", *FLOATS, "float8_e4m3fn", "float8_e5m2"]
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 126.7, 448.0, 460.0, 1e5, -1e5, 1e-8, 65504.0]


@pytest.mark.parametrize("name", TARGETS)
def test_conversions_follow_the_rules_of_the_type(run, name):
    """From float32, value by value as `tile_ir.numerics` says: rounding, saturation, truncation."""
    limit = {"int8": 127, "uint8": 255}.get(name, 1e9)
    numbers = [x for x in SPECIAL if abs(x) <= limit and not (name == "uint8" and x < 0)]
    if T.dtype(name).ir.is_float:
        numbers += [np.inf, -np.inf, np.nan]

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((N,), name)
        with T.Kernel(N) as i:
            B[i] = A[i]
        return B

    a = np.array(numbers, np.float32)
    (b,) = run(kernel, a)
    float32, to = T.float32.ir, T.dtype(name).ir
    want = np.array([convert(float(x), float32, to) for x in a])
    np.testing.assert_array_equal(b.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_conversions_to_float32(run, rng, name):
    @T.prim_func
    def kernel(A: T.Tensor((N,), name)):
        B = T.empty((N,), T.float32)
        C = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 32)) as bx:
            x = T.alloc_fragment((32,), T.float32)
            T.copy(A[bx * 32], x)
            T.copy(x, B[bx * 32])
            for i in T.Parallel(32):
                C[bx * 32 + i] = T.cast(A[bx * 32 + i], T.float32)
        return B, C

    a = values(rng, name, (45,))
    with np.errstate(over="ignore"):
        want = a.astype(np.float32)
    for got in run(kernel, a):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", NARROW)
def test_every_code_of_a_narrow_float_is_read_right(run, name):
    @T.prim_func
    def kernel(A: T.Tensor((256,), name)):
        B = T.empty((256,), T.float32)
        with T.Kernel(1):
            T.copy(A, B)
        return B

    a = np.arange(256, dtype=np.uint8).view(container(name))
    (b,) = run(kernel, a)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(b, a.astype(np.float32))


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_elementwise_arithmetic(run, rng, name):
    @T.prim_func
    def kernel(A: T.Tensor((N,), name), B: T.Tensor((N,), name)):
        C = T.empty((4, N), name)
        with T.Kernel(T.ceildiv(N, 64)) as bx:
            for i in T.Parallel(64):
                C[0, bx * 64 + i] = A[bx * 64 + i] + B[bx * 64 + i]
                C[1, bx * 64 + i] = A[bx * 64 + i] * B[bx * 64 + i]
                C[2, bx * 64 + i] = T.max(A[bx * 64 + i], B[bx * 64 + i])
                C[3, bx * 64 + i] = A[bx * 64 + i] - B[bx * 64 + i]
        return C

    dtype = container(name)
    if name in INTEGERS:
        a, b = values(rng, name, (77,)), values(rng, name, (77,))
    else:
        a, b = (rng.standard_normal(77).astype(dtype) for _ in range(2))
    (c,) = run(kernel, a, b)
    with np.errstate(over="ignore"):
        want = [a + b, a * b, np.maximum(a, b), a - b]
    np.testing.assert_array_equal(c.astype(np.float64), np.array(want).astype(np.float64))


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "int64", *FLOATS, "float8_e4m3fn"])
def test_reductions(run, rng, name):
    """Sums of floats gather in float32 at least; those of integers in the type of the output."""
    total = {"int8": "int32", "uint8": "int32", "float8_e4m3fn": "float32"}.get(name, name)

    @T.prim_func
    def kernel(A: T.Tensor((24, 40), name)):
        B = T.empty((24,), total)
        C = T.empty((24,), name)
        with T.Kernel(1):
            x = T.alloc_fragment((24, 40), name)
            s = T.alloc_fragment((24,), total)
            m = T.alloc_fragment((24,), name)
            T.copy(A, x)
            T.reduce_sum(x, s, dim=1)
            T.reduce_max(x, m, dim=1)
            T.copy(s, B)
            T.copy(m, C)
        return B, C

    dtype = container(name)
    if dtype.kind in "iu":
        a = rng.integers(0, 100, (24, 40)).astype(dtype)
    else:
        a = rng.standard_normal((24, 40)).astype(dtype)
    b, c = run(kernel, a)
    wide = a.astype(np.float64)
    error = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-13}.get(name, 1e-5)
    np.testing.assert_allclose(b.astype(np.float64), wide.sum(axis=1), rtol=error, atol=error)
    np.testing.assert_array_equal(c.astype(np.float64), wide.max(axis=1))


PRODUCTS = [
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
    ("float16", "float16", "float32"),
    ("float16", "float16", "float16"),
    ("bfloat16", "bfloat16", "float32"),
    ("float8_e4m3fn", "float8_e4m3fn", "float32"),
    ("float8_e4m3fn", "float8_e5m2", "float32"),
    ("int8", "int8", "int32"),
    ("uint8", "uint8", "int32"),
    ("uint8", "int8", "int32"),
    ("int16", "int16", "int32"),
    ("int32", "int32", "int32"),
]


@pytest.mark.parametrize("types", PRODUCTS, ids="-".join)
def test_products(run, rng, types):
    """At a size that fills no tile, with B as it is and transposed."""
    first, second, total = types

    @T.prim_func
    def kernel(A: T.Tensor((50, 70), first), B: T.Tensor((70, 40), second)):
        C = T.empty((50, 40), total)
        D = T.empty((50, 40), total)
        with T.Kernel(T.ceildiv(40, 32), T.ceildiv(50, 32)) as (bx, by):
            a = T.alloc_shared((32, 32), first)
            b = T.alloc_shared((32, 32), second)
            bt = T.alloc_shared((32, 32), second)
            c = T.alloc_fragment((32, 32), total)
            d = T.alloc_fragment((32, 32), total)
            T.clear(c)
            T.clear(d)
            for k in T.Pipelined(T.ceildiv(70, 32), num_stages=2):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, bx * 32], b)
                T.transpose(b, bt)
                T.gemm(a, b, c)
                T.gemm(a, bt, d, transpose_B=True)
            T.copy(c, C[by * 32, bx * 32])
            T.copy(d, D[by * 32, bx * 32])
        return C, D

    def operand(name, shape):
        dtype = container(name)
        if dtype.kind in "iu":
            low = 0 if dtype.kind == "u" else -100
            return rng.integers(low, 100, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    a, b = operand(first, (50, 70)), operand(second, (70, 40))
    c, d = run(kernel, a, b, rtol=2e-2 if total == "float16" else None)
    want = a.astype(np.float64) @ b.astype(np.float64)
    error = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-13}.get(total, 0)
    np.testing.assert_allclose(c.astype(np.float64), want, rtol=error, atol=error * 4)
    np.testing.assert_allclose(d.astype(np.float64), want, rtol=error, atol=error * 4)


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("policy", list(T.GemmWarpPolicy))
def test_products_of_transposed_operands(run, rng, transposed, policy):
    first, second = transposed
    shape_a = (24, 16) if first else (16, 24)
    shape_b = (8, 24) if second else (24, 8)

    @T.prim_func
    def kernel(A: T.Tensor(shape_a, T.float32), B: T.Tensor(shape_b, T.float32)):
        C = T.empty((16, 8), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared(shape_a, T.float32)
            b = T.alloc_shared(shape_b, T.float32)
            c = T.alloc_fragment((16, 8), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=first, transpose_B=second, policy=policy, clear_accum=True)
            T.copy(c, C)
        return C

    a = rng.standard_normal(shape_a, dtype=np.float32)
    b = rng.standard_normal(shape_b, dtype=np.float32)
    (c,) = run(kernel, a, b)
    want = (a.T if first else a).astype(np.float64) @ (b.T if second else b)
    np.testing.assert_allclose(c, want, rtol=1e-5, atol=1e-5)


def test_products_that_start_where_a_condition_says(run, rng):
    """`clear_accum=(k == 0)`: the accumulator holds garbage before the first trip."""

    @T.prim_func
    def kernel(A: T.Tensor((16, N), T.float32), B: T.Tensor((N, 16), T.float32)):
        C = T.empty((16, 16), T.float32)
        with T.Kernel(1):
            a = T.alloc_shared((16, 8), T.float32)
            b = T.alloc_shared((8, 16), T.float32)
            c = T.alloc_fragment((16, 16), T.float32)
            T.fill(c, T.float32(1e6))
            for k in T.serial(T.ceildiv(N, 8)):
                T.copy(A[0, k * 8], a)
                T.copy(B[k * 8, 0], b)
                T.gemm(a, b, c, clear_accum=k == 0)
            T.copy(c, C)
        return C

    a = rng.standard_normal((16, 21), dtype=np.float32)
    b = rng.standard_normal((21, 16), dtype=np.float32)
    (c,) = run(kernel, a, b)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


def test_products_of_fragments_and_regions(run, rng):
    """Operands in registers, and parts of larger tiles; one leading axis of extent 1."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 16), T.float32), B: T.Tensor((16, 32), T.float32)):
        C = T.empty((16, 16), T.float32)
        with T.Kernel(1):
            a = T.alloc_fragment((16, 16), T.float32)
            b = T.alloc_shared((2, 16, 32), T.float32)
            c = T.alloc_fragment((16, 16), T.float32)
            T.copy(A, a)
            T.copy(B, b[1, :, :])
            T.clear(c)
            T.gemm(a, b[1, :, 8:24], c)
            T.copy(c, C)
        return C

    a = rng.standard_normal((16, 16), dtype=np.float32)
    b = rng.standard_normal((16, 32), dtype=np.float32)
    (c,) = run(kernel, a, b)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b[:, 8:24], rtol=1e-5, atol=1e-5)


def test_packed_integers(run, rng):
    """Four-bit integers, two to a byte in the caller's memory."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), T.int4)):
        B = T.empty((8, 16), T.int8)
        with T.Kernel(1):
            T.copy(A, B)
        return B

    packed = rng.integers(0, 256, (8, 8), dtype=np.uint8)
    b = tile.compile(kernel, target="cpu")(packed)
    low, high = (packed & 15).astype(np.int8), (packed >> 4).astype(np.int8)
    want = np.stack([low, high], axis=-1).reshape(8, 16)
    np.testing.assert_array_equal(b, np.where(want > 7, want - 16, want))


@pytest.mark.parametrize("name", ["float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu"])
def test_floats_of_six_bits_and_of_scales(run, name):
    """One to a byte; every code is read, and its value stored back."""
    codes = 256 if name == "float8_e8m0fnu" else 64

    @T.prim_func
    def kernel(A: T.Tensor((codes,), name)):
        B = T.empty((codes,), T.float32)
        C = T.empty((codes,), name)
        with T.Kernel(1):
            x = T.alloc_fragment((codes,), T.float32)
            T.copy(A, x)
            T.copy(x, B)
            T.copy(x, C)
        return B, C

    a = np.arange(codes, dtype=np.uint8).view(container(name))
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, a.astype(np.float32))
    np.testing.assert_array_equal(c.view(np.uint8), np.arange(codes))


def test_packed_floats():
    """Four-bit floats, two to a byte; widened exactly, and rounded back to the same codes."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), T.float4_e2m1fn)):
        B = T.empty((8, 16), T.float32)
        C = T.empty((8, 16), T.float4_e2m1fn)
        with T.Kernel(1):
            x = T.alloc_fragment((8, 16), T.float32)
            T.copy(A, x)
            T.copy(x, B)
            T.copy(x, C)
        return B, C

    packed = np.random.default_rng(4).integers(0, 256, (8, 8), dtype=np.uint8)
    b, c = tile.compile(kernel, target="cpu")(packed)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(8, 16)
    want = np.where(codes & 8, -1, 1) * magnitudes[codes & 7]
    np.testing.assert_array_equal(b, want)
    np.testing.assert_array_equal(c, packed)
