"""Vectors: lanes taken out and put together, arithmetic on pairs, words read and written, and
atomic updates of neighbours.
"""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.numerics.array import to_numpy_dtype

N = 64


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32", "int8"])
def test_lanes_of_vectors(run, rng, dtype):
    """Of a vector behind a name, of one that is computed, and of one whose lane is computed."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype)):
        B = T.empty((4, N // 4), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N // 4):
                four = A[T.Ramp(i * 4, 1, 4)]
                B[0, i] = T.extract_lane(four, 2)
                B[1, i] = T.extract_lane(A[T.Ramp(i * 4, 1, 4)] + T.Broadcast(A[i], 4), 3)
                B[2, i] = T.extract_lane(four, i % 4)
                B[3, i] = T.extract_lane(A[i], 0)
        return B

    storage = to_numpy_dtype(T.dtype(dtype).ir)
    a = rng.integers(-50, 50, N).astype(storage)
    (b,) = run(kernel, a)
    i = np.arange(N // 4)
    np.testing.assert_array_equal(b, [a[4 * i + 2], a[4 * i + 3] + a[i], a[4 * i + i % 4], a[i]])


def test_zeros_and_nans_keep_their_sign_and_place(run):
    @T.prim_func
    def kernel(A: T.Tensor((4,), T.float32)):
        B = T.empty((4,), T.float32)
        with T.Kernel(1):
            four = A[T.Ramp(0, 1, 4)]
            for n in range(4):
                B[n] = T.extract_lane(four, n)
        return B

    a = np.array([-0.0, np.inf, np.nan, -np.inf], np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(np.signbit(b[:2]), [True, False])


def test_shuffles(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        B = T.empty((N,), T.int32)
        C = T.empty((N // 4,), T.int32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N // 4):
                low, high = A[T.Ramp(i * 4, 1, 2)], A[T.Ramp(i * 4 + 2, 1, 2)]
                B[T.Ramp(i * 4, 1, 4)] = T.Shuffle([low, high], [3, 0, 2, 0])
                C[i] = T.Shuffle([low, high], [1])
        return B, C

    a = rng.integers(-99, 99, N).astype(np.int32)
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, a.reshape(-1, 4)[:, [3, 0, 2, 0]].ravel())
    np.testing.assert_array_equal(c, a[1::4])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_arithmetic_on_pairs(run, rng, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype)):
        C = T.empty((7, N), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N // 2):
                at = T.Ramp(i * 2, 1, 2)
                x, y = A[at], B[at]
                C[0, at] = T.add2(x, y)
                C[1, at] = T.sub2(x, y)
                C[2, at] = T.mul2(x, y)
                C[3, at] = T.max2(x, y)
                C[4, at] = T.min2(x, y)
                C[5, at] = T.fma2(x, y, T.Broadcast(T.cast(1, dtype), 2))
                C[6, at] = T.abs2(x)
        return C

    storage = to_numpy_dtype(T.dtype(dtype).ir)
    a, b = (rng.integers(-9, 10, N).astype(storage) for _ in range(2))
    (c,) = run(kernel, a, b)
    want = [
        a + b,
        a - b,
        a * b,
        np.maximum(a, b),
        np.minimum(a, b),
        a * b + storage.type(1),
        abs(a),
    ]
    np.testing.assert_array_equal(c.astype(np.float64), np.array(want).astype(np.float64))


HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x1400, 0x3555, 0x3C00, 0xBC01, 0x4248]
HALVES += [0x5BFF, 0x6401, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00]
"""Bits of zeros, numbers below the normal ones, ordinary ones, the largest ones, infinities."""


def test_each_operation_on_pairs_of_halves_is_rounded(run):
    """No product is fused with the sum that follows, none keeps more digits."""
    size = len(HALVES) ** 2

    @T.prim_func
    def kernel(A: T.Tensor((size,), T.float16), B: T.Tensor((size,), T.float16)):
        C = T.empty((7, size), T.float16)
        D = T.empty((size,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(size // 2):
                at = T.Ramp(i * 2, 1, 2)
                x, y = A[at], B[at]
                C[0, at] = x + y
                C[1, at] = x - y
                C[2, at] = x * y
                C[3, at] = x * y + x
                C[4, at] = -x
                C[5, at] = T.abs2(x)
                C[6, at] = T.cast(T.cast(x, "float32x2") * 3.0, "float16x2")
                D[at] = T.cast(x * y, "float32x2")
        return C, D

    codes = np.array(HALVES, np.uint16).view(np.float16)
    a, b = (x.ravel().copy() for x in np.meshgrid(codes, codes))
    c, d = run(kernel, a, b)
    with np.errstate(all="ignore"):
        three = (a.astype(np.float32) * 3).astype(np.float16)
        want = np.array([a + b, a - b, a * b, a * b + a, -a, abs(a), three])
        np.testing.assert_array_equal(d, (a * b).astype(np.float32))
    np.testing.assert_array_equal(c, want)
    np.testing.assert_array_equal(
        np.signbit(c[:3]) & ~np.isnan(c[:3]), np.signbit(want[:3]) & ~np.isnan(c[:3])
    )


def test_pairs_in_words_of_numbers(run, rng):
    """Four bits of both halves of a word as floats: in the mantissa of 1024 they stand for
    themselves. A lane is taken by a number that is computed."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        B = T.empty((2 * N,), T.float16)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(2 * N):
                word = T.cast(A[i // 2], T.uint32)
                pair = T.reinterpret(word & 0x000F000F | 0x64006400, T.float16x2)
                less = (pair - T.Broadcast(T.float16(1024), 2)) * T.Broadcast(T.float16(3), 2)
                B[i] = T.extract_lane(less, i % 2)
        return B

    a = rng.integers(-(2**31), 2**31, N).astype(np.int32)
    (b,) = run(kernel, a)
    want = np.stack([a & 15, a >> 16 & 15], 1).ravel() * 3
    np.testing.assert_array_equal(b, want.astype(np.float16))


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64", "int32"])
@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_words_of_memory(run, rng, dtype, bits):
    """Read as words from global memory, passed through shared memory, written with a condition."""
    storage = np.dtype(dtype)
    each = bits // (8 * storage.itemsize)
    if each == 0:
        return check_refused(dtype, bits)
    shared = min(bits, 128)
    loads, stores = getattr(T, f"ldg{bits}"), getattr(T, f"stg{bits}")
    to_shared, from_shared = getattr(T, f"sts{shared}"), getattr(T, f"lds{shared}")

    @T.prim_func
    def kernel(A: T.Tensor((4, 8 * each), dtype), B: T.Tensor((4, 8 * each), dtype)):
        with T.Kernel(4, threads=32) as row:
            s = T.alloc_shared((each,), dtype)
            for i in T.Parallel(8):
                words = loads(A[row, i * each], pred=i < 6)
                stores(T.address_of(B[row, i * each]), words, i != 1)
            if bits == shared:
                to_shared(s, loads(A[row, 0]))
                stores(B[row, 0], from_shared(s))

    a, b = (rng.integers(0, 99, (4, 8 * each)).astype(storage) for _ in range(2))
    outcome = run(kernel, a, b)
    want = a.copy().reshape(4, 8, each)
    want[:, 6:] = 0
    want[:, 1] = b.reshape(4, 8, each)[:, 1]
    np.testing.assert_array_equal(outcome.args[1], want.reshape(4, -1))
    return None


def check_refused(dtype, bits):
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), dtype)):
            with T.Kernel(1):
                getattr(T, f"ldg{bits}")(A[0])

    assert raised.value.code == "E1422"


def test_words_have_stated_bits(run):
    @T.prim_func
    def kernel(A: T.Tensor((8,), T.uint16), D: T.Tensor((1,), T.float64)):
        B = T.empty((4,), T.uint32)
        C = T.empty((2,), T.uint32)
        with T.Kernel(1):
            four = T.ldg128(A)
            for n in range(4):
                B[n] = T.extract_lane(four, n)
            C[T.Ramp(0, 1, 2)] = T.ldg64(D)
        return B, C

    a = np.array([1, 2, 3, 0xFFFF, 5, 6, 7, 8], np.uint16)
    d = np.array([-1.5])
    b, c = run(kernel, a, d)
    np.testing.assert_array_equal(b, a.view(np.uint32))
    np.testing.assert_array_equal(c, d.view(np.uint32))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("count", [2, 4])
def test_atomic_updates_of_neighbours(run, rng, dtype, count):
    """From a place, from a vector, and with what was there before."""
    update = getattr(T, f"atomic_addx{count}")

    @T.prim_func
    def kernel(A: T.Tensor((8, 16), dtype), B: T.Tensor((16,), dtype), C: T.Tensor((4,), dtype)):
        old = T.empty((count,), dtype)
        with T.Kernel(8, threads=32) as row:
            s = T.alloc_shared((16,), dtype)
            T.copy(A[row, 0], s)
            for i in T.Parallel(16 // count):
                update(B[i * count], s[i * count])
            if row == 0:
                old[T.Ramp(0, 1, count)] = update(
                    T.access_ptr(C, "rw"), A[0, T.Ramp(4, 1, count)], return_prev=True
                )
        return old

    a = rng.integers(-4, 5, (8, 16)).astype(dtype)
    b, c = rng.integers(-4, 5, 16).astype(dtype), rng.integers(-4, 5, 4).astype(dtype)
    outcome = run(kernel, a, b, c)
    np.testing.assert_array_equal(outcome.args[1], b + a.sum(0))
    np.testing.assert_array_equal(outcome[0], c[:count])
    np.testing.assert_array_equal(outcome.args[2][:count], c[:count] + a[0, 4 : 4 + count])
    np.testing.assert_array_equal(outcome.args[2][count:], c[count:])


def test_places_start_tiles(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), T.float32), F: T.Tensor((64,), T.float32)):
        B = T.empty((16, 16), T.float32)
        with T.Kernel(2, threads=32) as n:
            s = T.alloc_shared((8, 16), T.float32)
            T.copy(T.access_ptr(A[n * 8, 0], "r", 8, 16), s)
            x = A[n, 3]
            s[0, 0] = F[0] if T.has_let_value(s) else T.get_let_value(x)
            T.copy(T.access_ptr(F, "r", offset=n * 16 + 16), s[1, 0:16])
            T.copy(s, T.address_of(B[n * 8, 0]))
        return B

    a, f = rng.standard_normal((16, 16), np.float32), rng.standard_normal(64, np.float32)
    (b,) = run(kernel, a, f)
    want = a.copy()
    want[[0, 8], 0] = a[:2, 3]
    want[1], want[9] = f[16:32], f[32:48]
    np.testing.assert_array_equal(b, want)


@pytest.mark.parametrize(
    ("dtype", "other"),
    [
        ("float32", "int32"),
        ("int64", "float64"),
        ("float16", "uint16"),
        ("int16", "bfloat16"),
        ("float8_e4m3fn", "int8"),
    ],
)
def test_bits_of_whole_loops(run, rng, dtype, other):
    """In a loop that becomes vectors of the machine."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype)):
        B = T.empty((N,), other)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                B[i] = T.reinterpret(A[i], other)
        return B

    storage = to_numpy_dtype(T.dtype(dtype).ir)
    a = rng.integers(0, 100, N).astype(storage)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b.view(np.uint8), a.view(np.uint8))


def test_bits_of_a_sum_in_whole_loops(run, rng):
    """2**23 + n from the bits of n, below 2**23."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.uint8)):
        B = T.empty((N,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                bits = (T.cast(A[i], T.uint32) & 15) | 0x4B000000
                B[i] = T.reinterpret(bits, T.float32) - 2.0**23
        return B

    a = rng.integers(0, 256, N).astype(np.uint8)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, (a & 15).astype(np.float32))


def test_bits_of_vectors(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float16), F: T.Tensor((N,), T.float32)):
        B = T.empty((N // 2,), T.uint32)
        C = T.empty((N,), T.uint32)
        D = T.empty((N,), T.float16)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N // 4):
                four = A[T.Ramp(i * 4, 1, 4)]
                B[T.Ramp(i * 2, 1, 2)] = T.reinterpret(four, "uint32x2")
                C[T.Ramp(i * 4, 1, 4)] = T.reinterpret(F[T.Ramp(i * 4, 1, 4)], "uint32x4")
                both = T.reinterpret(T.Shuffle([four], [2, 3]), T.uint32)
                D[T.Ramp(i * 4, 1, 2)] = T.reinterpret(both, "float16x2")
                D[T.Ramp(i * 4 + 2, 1, 2)] = T.reinterpret(both, "float16x2")
        return B, C, D

    a, f = rng.standard_normal(N).astype(np.float16), rng.standard_normal(N, np.float32)
    b, c, d = run(kernel, a, f)
    np.testing.assert_array_equal(b, a.view(np.uint32))
    np.testing.assert_array_equal(c, f.view(np.uint32))
    np.testing.assert_array_equal(d, a.reshape(-1, 4)[:, [2, 3, 2, 3]].ravel())


WRONG = {
    "lane": ("E1421", lambda A, S: T.extract_lane(A[T.Ramp(0, 1, 4)], 4)),
    "shuffle": ("E1421", lambda A, S: T.Shuffle([A[0], A[1]], [2])),
    "types": ("E1421", lambda A, S: T.Shuffle([A[0], T.cast(A[1], "int32")], [0])),
    "pair": ("E1421", lambda A, S: T.add2(A[T.Ramp(0, 1, 4)], A[T.Ramp(0, 1, 4)])),
    "scope": ("E1408", lambda A, S: T.lds32(A[0])),
    "other scope": ("E1408", lambda A, S: T.stg32(S[0], 1)),
    "words": ("E1422", lambda A, S: T.sts64(S[0], T.uint32(1))),
    "values": ("E1411", lambda A, S: T.atomic_addx2(A[0], A[T.Ramp(0, 1, 4)])),
    "place": ("E1405", lambda A, S: T.address_of(3)),
    "number": ("E1505", lambda A, S: T.cast(T.address_of(A[0]), "int64")),
    "offset": ("E1503", lambda A, S: T.access_ptr(T.view(S, (8, 8)), offset=3)),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_wrong_uses_are_refused(wrong):
    code, do = WRONG[wrong]
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((N,), T.float32)):
            with T.Kernel(1):
                S = T.alloc_shared((N,), T.float32)
                do(A, S)

    assert raised.value.code == code
    assert raised.value.help


@pytest.mark.parametrize("name", ["make_tensor", "make_tensor_from_addr"])
def test_tensors_made_of_addresses_are_refused(name):
    """The error says what to pass instead."""
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((N,), T.int64)):
            with T.Kernel(1) as bx:
                getattr(T, name)(A[bx], (N,))

    assert raised.value.code == "E1505"
    assert "offsets" in raised.value.help
