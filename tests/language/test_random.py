"""Random numbers: Philox4x32-10 by its published test vectors, the layout of streams, and what the
distributions look like.
"""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_frontend.language.random_numbers import philox4x32
from tile_ir.diag import TileError

MASK = 0xFFFFFFFF
# Counter, key, words: the known-answer tests that the authors of the paper publish with Random123.
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((MASK,) * 4, (MASK,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox(counter, key):
    """The block of a counter and a key in Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ k[0], q & MASK, p >> 32 ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def number(n, seed, seq, iteration=0):
    """Number n of a stream by the layout that the documentation states."""
    counter = (n // 4 & MASK, iteration, seq & MASK, seq >> 32 & MASK)
    return philox(counter, (seed & MASK, seed >> 32 & MASK))[n % 4]


def test_published_vectors(run):
    @T.prim_func
    def kernel(C: T.Tensor((3, 4), T.uint32), K: T.Tensor((3, 2), T.uint32)):
        W = T.empty((3, 4), T.uint32)
        with T.Kernel(3) as n:
            words = philox4x32([C[n, i] for i in range(4)], [K[n, i] for i in range(2)])
            for i in range(4):
                W[n, i] = words[i]
        return W

    counters, keys, want = (np.array([v[i] for v in VECTORS], np.uint32) for i in range(3))
    (words,) = run(kernel, counters, keys)
    np.testing.assert_array_equal(words, want)
    assert [tuple(philox(c, k)) for c, k, _ in VECTORS] == [w for _, _, w in VECTORS]


@pytest.mark.parametrize(
    ("seed", "seq", "off"), [(0, 0, 0), (42, 7, 5), (2**40 + 3, 2**33 + 1, 4095), (1, 2, 2**34 - 2)]
)
def test_numbers_in_order(run, seed, seq, off):
    """Outside T.Parallel: drawn one by one, in a loop and in a branch."""

    @T.prim_func
    def kernel(flag: T.int32):
        W = T.empty((10,), T.uint32)
        with T.Kernel(1, threads=32):
            T.rng_init(seed, seq, off)
            W[0] = T.rng_rand()
            for i in T.serial(8):
                W[1 + i] = T.rng_rand()
            if flag > 0:
                W[9] = T.rng_rand()
            else:
                W[9] = 0
        return W

    (words,) = run(kernel, 1)
    assert words.tolist() == [number((off + n) % 2**34, seed, seq) for n in range(10)]


def test_iterations_have_streams_of_their_own(run):
    """Two loops and two draws in one iteration: no number twice, whatever the threads."""

    @T.prim_func
    def kernel():
        W = T.empty((2, 4, 3, 8), T.uint32)
        with T.Kernel(2, threads=32) as bx:
            T.rng_init(9)
            for i, j in T.Parallel(3, 8):
                W[bx, 0, i, j] = T.rng_rand()
                W[bx, 1, i, j] = T.rng_rand()
            for k in T.serial(2):
                for i, j in T.Parallel(3, 8):
                    W[bx, 2 + k, i, j] = T.rng_rand()
        return W

    (words,) = run(kernel)
    want = [
        [[[number(n, 9, bx, 8 * i + j) for j in range(8)] for i in range(3)] for n in range(4)]
        for bx in range(2)
    ]
    np.testing.assert_array_equal(words, np.array(want, np.uint32))
    assert len(np.unique(words)) == words.size


def test_loops_inside_an_iteration(run):
    @T.prim_func
    def kernel():
        W = T.empty((8, 7), T.uint32)
        with T.Kernel(1, threads=32):
            T.rng_init(1, 5)
            for i in T.Parallel(8):
                for j in T.serial(2):
                    for k in T.serial(3):
                        W[i, j * 3 + k] = T.rng_rand()
            for i in T.Parallel(8):
                W[i, 6] = T.rng_rand()
        return W

    (words,) = run(kernel)
    assert words.tolist() == [[number(n, 1, 5, i) for n in range(7)] for i in range(8)]


def test_uniform_floats_have_stated_bits(run):
    @T.prim_func
    def kernel():
        A = T.empty((64,), T.float32)
        B = T.empty((64,), T.float64)
        with T.Kernel(1, threads=32):
            T.rng_init(3, 4)
            for i in T.Parallel(64):
                A[i] = T.rng_rand_float()
            for i in T.Parallel(64):
                B[i] = T.rng_rand_float(bit=64)
        return A, B

    a, b = run(kernel)
    x = np.array([number(0, 3, 4, i) for i in range(64)], np.uint32)
    want = x.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    np.testing.assert_array_equal(a, want)
    z = np.array([number(1, 3, 4, i) ^ number(2, 3, 4, i) << 21 for i in range(64)], np.uint64)
    np.testing.assert_array_equal(b, z.astype(np.float64) * 2.0**-53 + 2.0**-54)


@pytest.mark.parametrize("bit", [32, 64])
@pytest.mark.parametrize("dist", ["uniform", "normal"])
def test_distributions(run, bit, dist):
    """Mean and deviation of 65536 numbers, within six standard errors."""
    size = 1 << 14
    dtype = f"float{bit}"

    @T.prim_func
    def kernel():
        A = T.empty((4, size), dtype)
        with T.Kernel(4, threads=128) as bx:
            T.rng_init(2024)
            for i in T.Parallel(size):
                A[bx, i] = T.rng_rand_float(bit=bit, dist=dist)
        return A

    (a,) = run(kernel, rtol=1e-4, atol=1e-5)
    a = a.astype(np.float64).ravel()
    mean, deviation = (0.5, 12**-0.5) if dist == "uniform" else (0.0, 1.0)
    assert abs(a.mean() - mean) < 6 * deviation / len(a) ** 0.5
    assert abs(a.std() - deviation) < 6 * deviation / (2 * len(a)) ** 0.5
    assert abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < 6 / len(a) ** 0.5
    if dist == "uniform":
        assert 0 < a.min() < a.max() <= 1


def test_dropout_keeps_its_share(run, rng):
    """What random numbers are for: the mask of a layer is the same on every call with a seed."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 512), T.float32), seed: T.int64):
        B = T.empty((8, 512), T.float32)
        with T.Kernel(8, threads=128) as bx:
            T.rng_init(seed, bx)
            for i in T.Parallel(512):
                B[bx, i] = T.if_then_else(T.rng_rand_float() > 0.25, A[bx, i] / 0.75, 0.0)
        return B

    a = np.ones((8, 512), np.float32)
    (first,) = run(kernel, a, 11)
    (again,) = run(kernel, a, 11)
    (other,) = run(kernel, a, -12)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert abs((first > 0).mean() - 0.75) < 0.04


def test_drawing_without_a_stream_is_refused():
    with pytest.raises(TileError, match="no stream") as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.uint32)):
            with T.Kernel(1) as bx:
                if bx == 0:
                    T.rng_init(1)
                A[0] = T.rng_rand()

    assert raised.value.code == "E1419"


def test_loops_of_unknown_length_inside_an_iteration_are_refused():
    with pytest.raises(TileError, match="unknown length") as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.uint32), n: T.int32):
            with T.Kernel(1):
                T.rng_init(1)
                for i in T.Parallel(8):
                    for _j in T.serial(n):
                        A[i] = T.rng_rand()

    assert raised.value.code == "E1419"
