"""Macros and plain functions: traced in place, run as Python, and what they may change."""

import numpy as np

import tile_frontend.language as T

N = T.dynamic("N")


@T.macro
def clamped(x, low, high):
    y = T.alloc_var(x.dtype, init=x)
    if x < low:
        y = low
    if x > high:
        y = high
    return y


def squared(x):
    """A plain function: it runs while tracing and builds an expression."""
    return x * x


@T.macro
def add_rows(dst, src, rows):
    for i, j in T.Parallel(rows, 8):
        dst[i, j] = dst[i, j] + src[i, j]


@T.macro
def count_up(counter: T.Ref, limit):
    if counter < limit:
        counter += 1
    else:
        counter = 0


@T.macro
def both(x):
    return x + 1.0, x - 1.0


@T.macro
def power(x, n):
    if n == 0:
        return T.float32(1)
    return x * power(x, n - 1)


def test_a_macro_returns_values(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((3, N), T.float32)
        with T.Kernel(N) as i:
            B[0, i] = clamped(A[i], -1.0, 1.0)
            up, down = both(A[i])
            B[1, i] = up
            B[2, i] = squared(down)
        return B

    a = np.array([-3, -0.5, 0, 2], np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, [np.clip(a, -1, 1), a + 1, (a - 1) ** 2])


def test_a_macro_works_on_tiles(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((16, 8), T.float32)):
        B = T.empty((16, 8), T.float32)
        with T.Kernel(2) as bx:
            x = T.alloc_shared((8, 8), T.float32)
            T.copy(A[bx * 8, 0], x)
            add_rows(x, x, 8)
            add_rows(x, x, 4)
            T.copy(x, B[bx * 8, 0])
        return B

    a = rng.standard_normal((16, 8), dtype=np.float32)
    (b,) = run(kernel, a)
    factors = np.tile(np.repeat([4, 2], 4), 2)[:, None]
    np.testing.assert_array_equal(b, a * factors)


def test_a_macro_changes_what_it_takes_by_reference(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32)):
        B = T.empty((N,), T.int32)
        with T.Kernel(1):
            counter = T.alloc_var(T.int32, init=0)
            for i in T.serial(N):
                count_up(counter, 3)
                B[i] = counter
                count_up(A[i], 10)
        return B

    outcome = run(kernel, np.array([1, 10, 9, 20, 0, 5], np.int32))
    assert outcome[0].tolist() == [1, 2, 3, 0, 1, 2]
    assert outcome.args[0].tolist() == [2, 0, 10, 0, 1, 6]


def test_a_macro_that_calls_itself_ends_where_python_says(run):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        B = T.empty((N,), T.float32)
        with T.Kernel(N) as i:
            B[i] = power(A[i], 5)
        return B

    a = np.array([0, 1, -2, 1.5], np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a**5)


def test_names_of_a_macro_are_its_own(run):
    @T.macro
    def work(A, i):
        x = A[i] * 2
        y = x + 1
        A[i] = y

    @T.prim_func
    def kernel(A: T.Tensor((4,), T.int32)):
        with T.Kernel(1):
            x = A[0]
            work(A, 1)
            work(A, 2)
            A[3] = x

    outcome = run(kernel, np.array([10, 20, 30, 40], np.int32))
    assert outcome.args[0].tolist() == [10, 41, 61, 10]


def test_a_macro_of_a_class(run):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @T.macro
        def apply(self, A, i):
            A[i] = A[i] * self.factor

    twice, thrice = Scale(2.0), Scale(3.0)

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.float32)):
        with T.Kernel(N) as i:
            twice.apply(A, i)
            if i % 2 == 0:
                thrice.apply(A, i)

    outcome = run(kernel, np.ones(4, np.float32))
    assert outcome.args[0].tolist() == [6, 2, 6, 2]
