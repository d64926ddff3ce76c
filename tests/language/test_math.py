"""Scalar functions and operators, against numpy in float64 or exact integers."""

import math

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.numerics.array import to_numpy_dtype

N = T.dynamic("N")


def erf(x):
    return np.vectorize(math.erf)(x)


# Function -> (reference in float64, arguments where it is defined).
REAL = {
    "exp": (np.exp, (-20, 20)),
    "exp2": (np.exp2, (-30, 30)),
    "exp10": (lambda x: 10.0**x, (-9, 9)),
    "log": (np.log, (1e-6, 1e6)),
    "log2": (np.log2, (1e-6, 1e6)),
    "log10": (np.log10, (1e-6, 1e6)),
    "log1p": (np.log1p, (-0.9, 100)),
    "sqrt": (np.sqrt, (0, 1e6)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-6, 1e6)),
    "sin": (np.sin, (-10, 10)),
    "cos": (np.cos, (-10, 10)),
    "tan": (np.tan, (-1.4, 1.4)),
    "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 0.9)),
    "atan": (np.arctan, (-50, 50)),
    "sinh": (np.sinh, (-10, 10)),
    "cosh": (np.cosh, (-10, 10)),
    "tanh": (np.tanh, (-10, 10)),
    "asinh": (np.arcsinh, (-50, 50)),
    "acosh": (np.arccosh, (1.1, 50)),
    "atanh": (np.arctanh, (-0.9, 0.9)),
    "erf": (erf, (-4, 4)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-20, 20)),
    "abs": (np.abs, (-5, 5)),
    "fabs": (np.abs, (-5, 5)),
    "floor": (np.floor, (-5, 5)),
    "ceil": (np.ceil, (-5, 5)),
    "trunc": (np.trunc, (-5, 5)),
    "round": (np.round, (-5, 5)),
    "nearbyint": (np.round, (-5, 5)),
}


def elementwise(functions, dtype, results=None):
    """A kernel with one output row for each of the functions of x and i."""
    results = results or dtype
    count = len(functions)

    @T.prim_func
    def kernel(X: T.Tensor((count, N), dtype)):
        Y = T.empty((count, N), results)
        with T.Kernel(N) as i:
            for row in range(count):
                Y[row, i] = functions[row](X[row, i])
        return Y

    return kernel


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-6), ("float64", 1e-13)])
def test_functions_of_reals(run, rng, dtype, tolerance):
    kernel = elementwise([getattr(T, name) for name in REAL], dtype)
    x = np.stack([rng.uniform(*bounds, 200) for _, bounds in REAL.values()]).astype(dtype)
    (y,) = run(kernel, x)
    for row, (name, (reference, _)) in enumerate(REAL.items()):
        want = reference(x[row].astype(np.float64))
        scale = tolerance * max(1.0, float(np.abs(want).max())) * 1e-2
        np.testing.assert_allclose(y[row], want, rtol=tolerance, atol=scale, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_functions_of_narrow_floats_round_once(run, rng, dtype):
    names = ["exp", "log", "sqrt", "rsqrt", "sin", "tanh", "erf", "sigmoid", "abs", "floor"]
    storage = to_numpy_dtype(T.dtype(dtype).ir)
    kernel = elementwise([getattr(T, name) for name in names], dtype)
    x = np.stack([rng.uniform(0.1, 4, 100) for _ in names]).astype(storage)
    (y,) = run(kernel, x)
    steps = 2.0**-10 if dtype == "float16" else 2.0**-7
    for row, name in enumerate(names):
        want = REAL[name][0](x[row].astype(np.float64))
        np.testing.assert_allclose(
            y[row].astype(np.float64), want, rtol=steps, atol=steps / 8, err_msg=name
        )


def test_fast_functions_are_near(run, rng):
    names = ["exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan"]
    kernel = elementwise([getattr(T, f"__{name}") for name in names], T.float32)
    x = rng.uniform(0.5, 1.4, (len(names), 50)).astype(np.float32)
    (y,) = run(kernel, x, rtol=1e-3, atol=1e-4)
    for row, name in enumerate(names):
        want = REAL[name][0](x[row].astype(np.float64))
        np.testing.assert_allclose(y[row], want, rtol=1e-3, atol=1e-4, err_msg=name)


def test_special_values(run):
    kernel = elementwise([T.exp, T.log, T.sqrt, T.tanh, T.exp2, T.floor], T.float32)
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, -1.0, 1e30, -1e30], np.float32)
    (y,) = run(kernel, np.stack([values] * 6))
    with np.errstate(all="ignore"):
        want = [f(values) for f in (np.exp, np.log, np.sqrt, np.tanh, np.exp2, np.floor)]
    np.testing.assert_allclose(y, np.array(want, np.float32), rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(y[2, 3:5]), [False, True])


def test_functions_of_two_reals(run, rng):
    pairs = {
        "pow": np.power,
        "fmod": np.fmod,
        "atan2": np.arctan2,
        "copysign": np.copysign,
        "hypot": np.hypot,
    }
    names = list(pairs)

    @T.prim_func
    def kernel(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32)):
        Z = T.empty((6, N), T.float32)
        with T.Kernel(N) as i:
            for row, name in enumerate(names):
                Z[row, i] = getattr(T, name)(X[i], Y[i])
            Z[5, i] = T.fma(X[i], Y[i], T.ldexp(X[i], 3))
        return Z

    x = rng.uniform(0.1, 10, 100).astype(np.float32)
    y = rng.uniform(-4, 4, 100).astype(np.float32)
    (z,) = run(kernel, x, y)
    wide = x.astype(np.float64), y.astype(np.float64)
    for row, name in enumerate(names):
        np.testing.assert_allclose(z[row], pairs[name](*wide), rtol=2e-6, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(z[5], wide[0] * wide[1] + 8 * wide[0], rtol=1e-6, atol=1e-6)


def test_predicates(run):
    @T.prim_func
    def kernel(X: T.Tensor((N,), T.float32)):
        Y = T.empty((3, N), T.bool)
        with T.Kernel(N) as i:
            Y[0, i] = T.isnan(X[i])
            Y[1, i] = T.isinf(X[i])
            Y[2, i] = T.isfinite(X[i])
        return Y

    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1e38], np.float32)
    (y,) = run(kernel, x)
    np.testing.assert_array_equal(y, [np.isnan(x), np.isinf(x), np.isfinite(x)])


def test_extremes_of_nan_are_nan_on_either_side(run):
    @T.prim_func
    def kernel(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32)):
        Z = T.empty((3, N), T.float32)
        with T.Kernel(N) as i:
            Z[0, i] = T.max(X[i], Y[i])
            Z[1, i] = T.min(X[i], Y[i])
            Z[2, i] = T.clamp(X[i], -1.0, 1.0)
        return Z

    x = np.array([np.nan, 5.0, np.nan, -3.0, 0.5], np.float32)
    y = np.array([5.0, np.nan, np.nan, 4.0, -0.5], np.float32)
    (z,) = run(kernel, x, y)
    np.testing.assert_array_equal(z, [np.maximum(x, y), np.minimum(x, y), np.clip(x, -1, 1)])


INTEGERS = [-128, -127, -9, -8, -7, -2, -1, 0, 1, 2, 7, 8, 100, 127]


def test_division_and_remainder_of_integers(run):
    """Floor, truncation and ceiling, all signs of both operands."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), B: T.Tensor((N,), T.int32)):
        C = T.empty((7, N), T.int32)
        with T.Kernel(N) as i:
            C[0, i] = A[i] // B[i]
            C[1, i] = A[i] % B[i]
            C[2, i] = T.truncdiv(A[i], B[i])
            C[3, i] = T.truncmod(A[i], B[i])
            C[4, i] = T.ceildiv(A[i], B[i])
            C[5, i] = T.floordiv(A[i], 8)
            C[6, i] = T.floormod(A[i], 8)
        return C

    pairs = [(a, b) for a in INTEGERS for b in INTEGERS if b]
    a, b = np.array(pairs, np.int32).T.copy()
    (c,) = run(kernel, a, b)
    want = [
        a // b,
        a % b,
        np.trunc(a / b),
        np.fmod(a, b),
        [-(-x // y) for x, y in pairs],
        a // 8,
        a % 8,
    ]
    np.testing.assert_array_equal(c, np.array(want, np.int32))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64"])
def test_integers_wrap_and_shift(run, dtype):
    info = np.iinfo(dtype)

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype)):
        C = T.empty((10, N), dtype)
        with T.Kernel(N) as i:
            C[0, i] = A[i] + B[i]
            C[1, i] = A[i] - B[i]
            C[2, i] = A[i] * B[i]
            C[3, i] = A[i] & B[i]
            C[4, i] = A[i] | B[i]
            C[5, i] = A[i] ^ B[i]
            C[6, i] = ~A[i]
            C[7, i] = T.shift_right(A[i], T.cast(3, dtype))
            C[8, i] = T.max(A[i], B[i])
            C[9, i] = T.cast(T.popcount(A[i]), dtype)
        return C

    values = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 7, 100]
    a, b = (np.array(v, dtype).ravel() for v in np.meshgrid(values, values))
    (c,) = run(kernel, a, b)
    with np.errstate(over="ignore"):
        mask = (1 << (8 * a.itemsize)) - 1
        ones = np.array([(int(x) & mask).bit_count() for x in a], dtype)
        want = [a + b, a - b, a * b, a & b, a | b, a ^ b, ~a, a >> 3, np.maximum(a, b), ones]
    np.testing.assert_array_equal(c, want)


def test_bits(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.uint32), F: T.Tensor((N,), T.float32)):
        B = T.empty((4, N), T.uint32)
        with T.Kernel(N) as i:
            B[0, i] = T.clz(A[i])
            B[1, i] = T.shift_left(A[i], 4)
            B[2, i] = T.reinterpret(F[i], T.uint32)
            B[3, i] = T.reinterpret(T.reinterpret(A[i], T.float32), T.uint32)
        return B

    a = np.array([0, 1, 0x80000000, 0x00FF0000, 0x7F800001], np.uint32)
    f = np.array([0.0, -0.0, 1.0, np.inf, -2.5], np.float32)
    (b,) = run(kernel, a, f)
    leading = [32 - int(x).bit_length() for x in a]
    np.testing.assert_array_equal(b, [leading, a << 4, f.view(np.uint32), a])


def test_promotion(run):
    """Two of each: the wider wins, floats win, literals follow, and `/` of a float is one."""

    @T.prim_func
    def kernel(
        i8: T.Tensor((1,), T.int8),
        u8: T.Tensor((1,), T.uint8),
        i32: T.Tensor((1,), T.int32),
        u32: T.Tensor((1,), T.uint32),
        f16: T.Tensor((1,), T.float16),
        bf16: T.Tensor((1,), T.bfloat16),
        f32: T.Tensor((1,), T.float32),
    ):
        out = T.empty((1,), T.float32)
        with T.Kernel(1):
            assert (i8[0] + i32[0]).dtype == T.int32
            assert (i8[0] + u8[0]).dtype == T.uint8
            assert (i32[0] + u32[0]).dtype == T.uint32
            assert (i32[0] + f16[0]).dtype == T.float16
            assert (f16[0] + bf16[0]).dtype == T.float16
            assert (f16[0] + f32[0]).dtype == T.float32
            assert (f16[0] + 1).dtype == T.float16
            assert (f16[0] + 1.0).dtype == T.float32
            assert (u8[0] + 1).dtype == T.int32
            assert (i32[0] + 0.5).dtype == T.float32
            assert (i32[0] / f32[0]).dtype == T.float32
            assert (i32[0] < f32[0]).dtype == T.bool
            assert T.exp(i32[0]).dtype == T.float32
            assert T.if_then_else(i32[0] > 0, f16[0], f32[0]).dtype == T.float32
            assert T.Select(i32[0] > 0, f32[0], f32[0]).dtype == T.float32
            out[0] = (i8[0] + u8[0]) + f16[0] * 2 + f32[0] / i32[0]
        return out

    def one(value, dtype):
        return np.full(1, value, to_numpy_dtype(T.dtype(dtype).ir))

    (out,) = run(
        kernel,
        one(-1, "int8"),
        one(3, "uint8"),
        one(4, "int32"),
        one(5, "uint32"),
        one(0.5, "float16"),
        one(1, "bfloat16"),
        one(10, "float32"),
    )
    # int8 and uint8 of equal width are unsigned together: 255 + 3 wraps to 2.
    assert out.tolist() == [2 + 1 + 2.5]


def test_choices(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), B: T.Tensor((N,), T.float32)):
        C = T.empty((4, N), T.float32)
        with T.Kernel(N) as i:
            C[0, i] = T.if_then_else(A[i] > 0, B[i], 0)
            C[1, i] = T.Select(A[i] % 2 == 0, B[i], B[i] * 2.0)
            C[2, i] = T.if_then_else(A[i], B[i], -1.0)
            C[3, i] = A[i] if B[i] > 1 else -A[i]
        return C

    a = np.array([-2, -1, 0, 1, 2], np.int32)
    b = np.array([0.5, 1.5, 2.5, 3.5, 0.25], np.float32)
    (c,) = run(kernel, a, b)
    want = [
        np.where(a > 0, b, 0),
        np.where(a % 2 == 0, b, 2 * b),
        np.where(a != 0, b, -1),
        np.where(b > 1, a, -a),
    ]
    np.testing.assert_array_equal(c, want)


def test_limits_of_types(run):
    @T.prim_func
    def kernel(dummy: T.Tensor((1,), T.float32)):
        F = T.empty((6,), T.float32)
        J = T.empty((4,), T.int64)
        with T.Kernel(1):
            F[0] = T.infinity(T.float32)
            F[1] = -T.infinity(T.float16)
            F[2] = T.max_value(T.float16)
            F[3] = T.min_value(T.bfloat16)
            F[4] = T.infinity(T.float8_e4m3fn)
            F[5] = dummy[0]
            J[0] = T.max_value(T.int8)
            J[1] = T.min_value(T.int32)
            J[2] = T.max_value(T.uint32)
            J[3] = T.min_value(T.int64)
        return F, J

    f, j = run(kernel, np.ones(1, np.float32))
    largest_bf16 = np.uint32(0x7F7F0000).view(np.float32)
    assert f.tolist() == [np.inf, -np.inf, 65504.0, -float(largest_bf16), 448.0, 1.0]
    assert j.tolist() == [127, -(2**31), 2**32 - 1, -(2**63)]


def test_python_numbers_in_integer_functions_stay_python():
    assert T.ceildiv(7, 2) == 4
    assert T.ceildiv(7, -3) == -2
    assert T.floordiv(-7, 2) == -4
    assert T.floormod(-7, 2) == 1
    assert T.truncdiv(-7, 2) == -3
    assert T.truncmod(-7, 2) == -1
    assert T.align_up(100, 32) == 128
    assert T.max(3, 4) == 4
    assert T.min(3, 4) == 3


def test_vectors(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((16,), T.float32)):
        B = T.empty((16,), T.float32)
        with T.Kernel(4) as i:
            four = T.Ramp(i * 4, 1, 4)
            B[four] = A[four] * T.Broadcast(T.float32(2), 4)
            if i == 3:
                B[four] = 7
        return B

    a = rng.standard_normal(16, dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, [*(2 * a[:12]), 7, 7, 7, 7])


def test_vectors_that_leave_their_tensor_do_so_lane_by_lane(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 4)) as i:
            four = T.Ramp(i * 4, 1, 4)
            B[four] = A[T.Ramp(i * 4 + 1, 1, 4)] + 1.0
        return B

    a = rng.standard_normal(14, dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, [*(a[1:] + 1), 1])


def test_coordinates_of_a_flat_index(run):
    @T.prim_func
    def kernel(A: T.Tensor((3, 4, 5), T.int32)):
        with T.Kernel(60) as flat:
            i, j, k = T.index_to_coordinates(flat, (3, 4, 5))
            A[i, j, k] = flat

    outcome = run(kernel, np.zeros((3, 4, 5), np.int32))
    np.testing.assert_array_equal(outcome.args[0], np.arange(60).reshape(3, 4, 5))
