"""Parameters of `T.ptr`: tensors whose shape and type the body says."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError


def added():
    @T.prim_func
    def main(a: T.ptr, b: T.ptr(T.float32), c: T.ptr, m: T.int32, n: T.int32):
        A = T.make_tensor(a, (m, n), T.float32)
        B = T.make_tensor(b, (m, n), T.float32)
        C = T.make_tensor_from_addr(c, (m, n), "float32")
        with T.Kernel(T.ceildiv(m, 16), T.ceildiv(n, 16), threads=64) as (bx, by):
            for i, j in T.Parallel(16, 16):
                C[bx * 16 + i, by * 16 + j] = (
                    A[bx * 16 + i, by * 16 + j] + B[bx * 16 + i, by * 16 + j]
                )

    return main


@pytest.mark.parametrize("shape", [(20, 35), (16, 16), (1, 3)])
def test_extents_that_are_parameters(run, shape):
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    outcome = run(added(), a, 2 * a, np.zeros_like(a), *shape)
    np.testing.assert_array_equal(outcome.args[2], 3 * a)


def test_a_product_with_constant_extents_and_strides(run, rng):
    @T.prim_func
    def main(a: T.ptr, b: T.ptr, c: T.ptr):
        A = T.make_tensor(a, (32, 16), T.float16)
        B = T.make_tensor(b, (16, 32), T.float16, strides=(32, 1))
        C = T.make_tensor(c, (32, 32), T.float32)
        with T.Kernel(1, threads=128):
            A_s, B_s = T.alloc_shared((32, 16), T.float16), T.alloc_shared((16, 32), T.float16)
            C_l = T.alloc_fragment((32, 32), T.float32)
            T.clear(C_l)
            T.copy(A, A_s)
            T.copy(B, B_s)
            T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C)

    a = rng.integers(-4, 5, (32, 16)).astype(np.float16)
    b = rng.integers(-4, 5, (16, 32)).astype(np.float16)
    outcome = run(main, a, b, np.zeros((32, 32), np.float32))
    np.testing.assert_array_equal(outcome.args[2], a.astype(np.float32) @ b.astype(np.float32))


def test_a_second_shape_is_a_view(run):
    @T.prim_func
    def main(a: T.ptr, B: T.Tensor((8,), T.int32)):
        A = T.make_tensor(a, (2, 4), T.int32)
        flat = T.make_tensor(a, (8,), T.int32)
        same = T.make_tensor(a, (2, 4), T.int32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = flat[i] * 10 + A[i // 4, i % 4] + same[i // 4, i % 4]

    a = np.arange(8, dtype=np.int32).reshape(2, 4)
    outcome = run(main, a, np.zeros(8, np.int32))
    assert outcome.args[1].tolist() == [12 * i for i in range(8)]


def test_strides_over_dimensions(run):
    """They are compared as expressions; the outermost extent has no part in them."""
    m, n = T.dynamic("m, n")

    @T.prim_func
    def main(a: T.ptr, b: T.ptr):
        A = T.make_tensor(a, (m, n), T.int32, strides=(n, 1))
        B = T.make_tensor(b, (m, 2), T.int32, strides=(2, 1))
        with T.Kernel(m, threads=32) as i:
            B[i, 0] = A[i, n - 1]

    a, b = np.arange(15, dtype=np.int32).reshape(3, 5), np.zeros((3, 2), np.int32)
    outcome = run(main, a, b)
    assert outcome.args[1].tolist() == [[4, 0], [9, 0], [14, 0]]


WRONG = {
    "another number of rows": ((20, 35), (21, 35), "E0805"),
    "a smaller tensor": ((10, 35), (20, 35), "E0805"),
    "a flat tensor": ((700,), (20, 35), "E2003"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_comes_in_is_what_the_body_says(name):
    shape, said, code = WRONG[name]
    kernel = tile.compile(added(), target="cpu")
    good = np.zeros((20, 35), np.float32)
    with pytest.raises(TileError) as caught:
        kernel(np.zeros(shape, np.float32), good, good.copy(), *said)
    assert caught.value.code == code
    assert " a " in caught.value.message or "'a'" in caught.value.message


def test_the_size_is_checked_at_every_launch():
    kernel = tile.compile(added(), target="cpu")
    a = np.ones((8, 8), np.float32)
    c = np.zeros_like(a)
    kernel(a, a, c, 8, 8)
    assert c.sum() == 128
    with pytest.raises(TileError, match="axis 0 of a has the extent m"):
        kernel(a, a, c, 9, 8)


@pytest.mark.parametrize("bad", [1 << 40, np.zeros((20, 35), np.float64)])
def test_addresses_and_other_types_are_refused(bad):
    kernel = tile.compile(added(), target="cpu")
    good = np.zeros((20, 35), np.float32)
    with pytest.raises(TileError) as caught:
        kernel(bad, good, good.copy(), 20, 35)
    assert caught.value.code in ("E2002", "E2009")


MISUSES = {
    "as a number": (lambda p: p + 1, "E1505"),
    "compared": (lambda p: p < 1, "E1505"),
    "as an index": (lambda p: [7][p], "E1505"),
    "negated": (lambda p: -p, "E1505"),
    "indexed": (lambda p: p[0], "E1505"),
    "stored to": (lambda p: p.__setitem__(0, 1.0), "E1505"),
    "of another type": (lambda p: T.make_tensor(p, (4,), T.int32), "E1516"),
    "with a gap": (lambda p: T.make_tensor(p, (4, 4), T.float32, strides=(5, 1)), "E1516"),
    "without its strides": (lambda p: T.make_tensor(p, (4, 4), T.float32, strides=()), "E1516"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_mistakes(name):
    use, code = MISUSES[name]
    with pytest.raises(TileError) as caught:

        @T.prim_func
        def main(a: T.ptr(T.float32), B: T.Tensor((4,), T.float32)):
            use(a)
            A = T.make_tensor(a, (4,), T.float32)
            with T.Kernel(4, threads=32) as bx:
                B[bx] = A[bx]

    assert caught.value.code == code
    assert caught.value.help
