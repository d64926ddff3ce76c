"""Arithmetic rounded in a stated direction, held to exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError

SIZE = 256
MODES = ("rn", "rz", "ru", "rd")
EDGES = np.array(
    [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, np.inf, 3.0],
    np.float32,
)


def numbers(rng, spread):
    """Random float32 of many magnitudes, with the edges of the format among them."""
    values = rng.standard_normal(SIZE) * 2.0 ** rng.integers(-spread, spread + 1, SIZE)
    values = values.astype(np.float32)
    values[: len(EDGES)] = rng.permutation(EDGES)
    values[-len(EDGES) :] = EDGES
    return values


def rounded(exact, mode):
    """The float32 of a rational number that is not zero."""
    low, high = _neighbours(exact)
    if low == high or mode == "rd" or (mode == "rz" and exact > 0):
        return low
    if mode == "ru" or mode == "rz":
        return high
    limit = Fraction(2) ** 128  # what infinity counts as when the nearest is sought
    below, above = (
        Fraction(float(x)) if np.isfinite(x) else limit * int(np.sign(x)) for x in (low, high)
    )
    if exact - below != above - exact:
        return low if exact - below < above - exact else high
    return low if low.view(np.uint32) % 2 == 0 else high


def _neighbours(exact):
    """The float32 at or next below a rational number, and at or next above."""
    largest = Fraction(float(np.finfo(np.float32).max))
    inf = np.float32(np.inf)
    if exact > largest:
        return np.float32(largest), inf
    if exact < -largest:
        return -inf, np.float32(-largest)
    near = np.float32(np.clip(float(exact), -float(largest), float(largest)))
    below = near if Fraction(float(near)) <= exact else np.nextafter(near, -inf)
    return below, below if Fraction(float(below)) == exact else np.nextafter(below, inf)


def expected(fn, mode, *operands):
    """The operation by its exact value; where there is none (or zero), what numpy says."""
    finite = all(np.isfinite(x) for x in operands)
    exact = fn(*(Fraction(float(x)) for x in operands)) if finite else None
    return None if exact is None or exact == 0 else rounded(exact, mode)


OPERATIONS = {
    "ieee_add": (2, 40, lambda x, y: x + y),
    "ieee_sub": (2, 40, lambda x, y: x - y),
    "ieee_mul": (2, 80, lambda x, y: x * y),
    "ieee_fdiv": (2, 80, lambda x, y: x / y if y else None),
    "ieee_fmaf": (3, 30, lambda x, y, z: x * y + z),
    "ieee_frcp": (1, 120, lambda x: 1 / x if x else None),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_results_are_the_exact_ones_rounded_once(run, rng, name, mode):
    arity, spread, exactly = OPERATIONS[name]
    fn = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((3, SIZE), T.float32)):
        B = T.empty((SIZE,), T.float32)
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                B[i] = fn(*[A[n, i] for n in range(arity)], rounding_mode=mode)
        return B

    a = np.stack([numbers(rng, spread) for _ in range(3)])
    (b,) = run(kernel, a, rtol=0, atol=0)
    checked = 0
    for got, column in zip(b, a.T, strict=True):
        want = expected(exactly, mode, *column[:arity])
        if want is not None:
            assert got == want, (name, mode, column[:arity], got, want)
            checked += 1
    assert checked > SIZE * 0.7


@pytest.mark.parametrize("mode", MODES)
def test_square_roots(run, rng, mode):
    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), T.float32)):
        B = T.empty((SIZE,), T.float32)
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                B[i] = T.ieee_fsqrt(A[i], mode)
        return B

    a = np.abs(numbers(rng, 100))
    (b,) = run(kernel, a, rtol=0, atol=0)
    for x, got in zip(a[np.isfinite(a)], b[np.isfinite(a)], strict=True):
        square, up = Fraction(float(x)), np.nextafter(got, np.float32(np.inf))
        down = np.nextafter(got, np.float32(-np.inf))
        root = Fraction(float(got))
        if mode == "ru":
            assert root**2 >= square
            assert not square or Fraction(float(down)) ** 2 < square
        elif mode == "rn":
            assert got == np.sqrt(x)
        else:
            assert root**2 <= square < Fraction(float(up)) ** 2
    assert np.isinf(b[np.isinf(a)]).all()


def test_zeros_of_exact_sums(run):
    """Only downwards is a difference of equals -0."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), T.float32), B: T.Tensor((4,), T.float32)):
        R = T.empty((4, 4), T.float32)
        with T.Kernel(1):
            for n in range(4):
                for m in range(4):
                    R[m, n] = T.ieee_add(A[n], B[n], MODES[m])
        return R

    a = np.array([1.0, 0.0, -0.0, 0.0], np.float32)
    b = np.array([-1.0, 0.0, -0.0, -0.0], np.float32)
    (r,) = run(kernel, a, b)
    np.testing.assert_array_equal(r, np.zeros((4, 4)))
    minus = [[False, False, True, False]] * 3 + [[True, False, True, True]]
    np.testing.assert_array_equal(np.signbit(r), minus)


def test_reciprocal_square_roots(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), T.float32)):
        B = T.empty((SIZE,), T.float32)
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                B[i] = T.ieee_frsqrt(A[i])
        return B

    a = np.abs(numbers(rng, 100))
    a[a == 0] = 1
    (b,) = run(kernel, a, rtol=0, atol=0)
    for x, got in zip(a, b, strict=True):
        if np.isfinite(x):
            up, down = (np.nextafter(got, np.float32(to)) for to in (np.inf, -np.inf))
            low, high = ((Fraction(float(got)) + Fraction(float(o))) / 2 for o in (down, up))
            assert low**2 * Fraction(float(x)) <= 1 <= high**2 * Fraction(float(x))
        else:
            assert got == 0


def test_float64_is_rounded_to_nearest(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), T.float64), B: T.Tensor((SIZE,), T.float64)):
        C = T.empty((3, SIZE), T.float64)
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                C[0, i] = T.ieee_add(T.ieee_mul(A[i], B[i]), 1.0)
                C[1, i] = T.ieee_fdiv(A[i], B[i])
                C[2, i] = T.ieee_fmaf(A[i], B[i], A[i])
        return C

    a, b = rng.standard_normal((2, SIZE))
    (c,) = run(kernel, a, b, rtol=0, atol=0)
    np.testing.assert_array_equal(c[:2], [a * b + 1.0, a / b])
    fused = [Fraction(x) * Fraction(y) + Fraction(x) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(c[2], [float(x) for x in fused])


@pytest.mark.parametrize(("mode", "dtype"), [("up", "float32"), ("ru", "float64"), ("rn", "int32")])
def test_other_modes_and_types_are_refused(mode, dtype):
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), dtype)):
            with T.Kernel(1):
                A[0] = T.ieee_add(A[0], A[1], mode)

    assert raised.value.code == "E1503"
    assert raised.value.help
