"""Habits of Python's authors: each keeps Python's meaning in a kernel, or is refused elsewhere."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError


def test_a_name_may_be_bound_to_another_type(run):
    """A plain name is bound anew, whatever the type; a variable converts to its own."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.int32)):
        B, C = T.empty((8,), T.float32), T.empty((8,), T.int32)
        with T.Kernel(8, threads=32) as i:
            x = A[i]
            x = x * 1.5
            x = T.cast(x, T.float16)
            B[i] = x
            v = T.alloc_var(T.int32, init=1)
            v = x
            C[i] = v
        return B, C

    a = np.arange(8, dtype=np.int32)
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, a * 1.5)
    np.testing.assert_array_equal(c, np.trunc(a * 1.5))


def test_inner_names_hide_outer_ones(run):
    """Loops, helpers and comprehensions have names of their own, as in Python."""
    scale = 100

    def helper(x):
        scale = 10
        return x * scale

    @T.prim_func
    def kernel(A: T.Tensor((4, 4), T.int32)):
        B = T.empty((4, 4), T.int32)
        with T.Kernel(1, threads=32):
            for i in T.serial(4):
                for j in T.serial(4):
                    B[i, j] = helper(A[i, j]) + scale + sum([i * i for i in range(3)])
            for i in T.serial(2):
                B[i, 0] = B[i, 0] + 1000
        return B

    a = np.arange(16, dtype=np.int32).reshape(4, 4)
    (b,) = run(kernel, a)
    want = a * 10 + 105
    want[:2, 0] += 1000
    np.testing.assert_array_equal(b, want)


def test_names_of_builtins_are_ordinary_names(run):
    @T.prim_func
    def kernel(input: T.Tensor((8,), T.int32)):
        out = T.empty((8,), T.int32)
        with T.Kernel(8, threads=32) as id:
            sum = input[id] + 1
            out[id] = sum * 2
        return out

    a = np.arange(8, dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, (a + 1) * 2)


def test_defaults_that_are_mutable_are_shared_as_in_python(run):
    def helper(x, seen=[]):  # noqa: B006 -- the habit in question
        seen.append(len(seen))
        return x + seen[-1]

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.int32)):
        B = T.empty((3, 8), T.int32)
        with T.Kernel(8, threads=32) as i:
            for row in (0, 1, 2):
                B[row, i] = helper(A[i])
        return B

    a = np.arange(8, dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a + np.arange(3)[:, None])


def test_arguments_are_spread_as_in_python(run):
    def helper(*values, **named):
        return values[0] * values[1] + named["plus"]

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.int32)):
        B = T.empty((8,), T.int32)
        with T.Kernel(8, threads=32) as i:
            pair = (A[i], 3)
            named = {"plus": 5}
            B[i] = helper(*pair, **named)
        return B

    a = np.arange(8, dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a * 3 + 5)


def test_lists_that_grow_while_tracing(run):
    """A loop over Python's numbers is unrolled, so that a list may grow in it."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 8), T.int32)):
        B = T.empty((8,), T.int32)
        with T.Kernel(8, threads=32) as i:
            terms = []
            for row in (0, 1, 2, 3):
                terms.append(A[row, i] * row)  # noqa: PERF401 -- the habit in question
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            B[i] = total
        return B

    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, (a * np.arange(4)[:, None]).sum(0))


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_recursion_that_python_ends(run, depth):
    def power(x, n):
        return T.int32(1) if n == 0 else x * power(x, n - 1)

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.int32)):
        B = T.empty((8,), T.int32)
        with T.Kernel(8, threads=32) as i:
            B[i] = power(A[i], depth)
        return B

    a = np.arange(8, dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a**depth)


def test_scalars_of_numpy_are_operands_as_numbers_are(run):
    """On either side, with the type of a number of Python or their own."""
    half, three = np.float32(0.5), np.int64(3)

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.float32)):
        B, C = T.empty((8,), T.float32), T.empty((8,), T.bool)
        with T.Kernel(8, threads=32) as i:
            B[i] = half * A[i] + A[i] * half - three / (A[i] + 1)
            C[i] = three < A[i]
        return B, C

    a = np.arange(8, dtype=np.float32)
    b, c = run(kernel, a)
    np.testing.assert_allclose(b, a - 3 / (a + 1), rtol=1e-6)
    np.testing.assert_array_equal(c, a > 3)


OF_NUMPY = {
    "ufunc": np.exp,
    "reduction": np.maximum.reduce,
    "function": lambda x: np.where(x, x, x),
    "outer": lambda x: np.add.outer(x, x),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_functions_of_numpy_are_refused(name):
    function = OF_NUMPY[name]
    with pytest.raises(TileError) as caught:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(8) as i:
                A[i] = function(A[i])

    assert caught.value.code == "E1005"
    assert "T.exp" in caught.value.help


def test_functions_of_torch_are_refused_and_its_numbers_are_operands(run):
    torch = pytest.importorskip("torch", reason="torch is optional")
    two = torch.tensor(2.0)

    @T.prim_func
    def doubled(A: T.Tensor((8,), T.float32)):
        B = T.empty((8,), T.float32)
        with T.Kernel(8, threads=32) as i:
            B[i] = two * A[i]
        return B

    a = np.arange(8, dtype=np.float32)
    (b,) = run(doubled, a)
    np.testing.assert_array_equal(b, 2 * a)
    with pytest.raises(TileError, match="relu of an array library was called on A") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(8):
                torch.relu(A)

    assert caught.value.code == "E1005"


def test_the_length_of_a_buffer_is_its_first_extent(run):
    @T.prim_func
    def kernel(A: T.Tensor((8, 4), T.int32)):
        B = T.empty((8,), T.int32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(len(A)):
                B[i] = A[i, 0] * len(A[0:2, :])
        return B

    a = np.arange(32, dtype=np.int32).reshape(8, 4)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, 2 * a[:, 0])


def test_an_error_of_a_helper_of_the_same_name_is_pythons():
    """Only calls of the language's own functions are told as its errors."""

    def copy(src, dst):
        T.copy(src, dst)

    with pytest.raises(TypeError, match=r"copy\(\) missing") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.int32)):
            with T.Kernel(1):
                copy(A)

    assert not isinstance(caught.value, TileError)


def test_a_sum_of_a_thousand_terms_is_refused():
    @T.prim_func
    def kernel(A: T.Tensor((2000,), T.float32)):
        with T.Kernel(1):
            A[0] = sum(A[i] for i in range(2000))

    with pytest.raises(TileError, match="nested too deeply") as caught:
        tile.compile(kernel, target="cpu")
    assert caught.value.code == "E0015"
    assert "T.reduce_sum" in caught.value.help
