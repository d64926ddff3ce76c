"""Parameters of the eager style whose values come with each launch."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.specialize import scalars_of
from tile_ir.diag import TileError


@pytest.fixture
def axpy():
    @tile.jit(target="cpu")
    def axpy(X, a: T.float32, Y, n: T.int32 = 8, block: int = 4):
        N = T.const("N")
        X: T.Tensor((N,), T.float32)
        Y: T.Tensor((N,), T.float32)
        Z = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, block)) as b:
            for i in T.Parallel(block):
                at = b * block + i
                Z[at] = T.if_then_else(at < n, a * X[at] + Y[at], 0.0)
        return Z

    return axpy


X, Y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)


def test_one_kernel_for_all_values(axpy):
    for a in (2, 2.5, np.float32(3), -7.25, 2.5):
        assert axpy(X, a, Y).tolist() == (float(a) * X + 1).tolist()
    for n in (3, 5, 3):  # by the short way
        assert axpy(X, 2.0, Y, n).tolist() == [2 * x + 1 if x < n else 0 for x in range(8)]
    assert axpy(X, Y=Y, n=2, a=1.0).tolist() == [1, 2] + [0] * 6
    assert len(axpy.variants().rows) == 1
    axpy(X, 2.0, Y, 8, 2)  # a Python argument, whatever its annotation says
    assert len(axpy.variants().rows) == 2


def test_what_is_no_such_number_is_refused(axpy):
    for bad in ("2", None, 2**200, [1.0]):
        with pytest.raises(TileError, match="'a' is") as caught:
            axpy(X, bad, Y)
        assert caught.value.code == "E2010"
    with pytest.raises(TileError, match="missing a required argument: 'a'") as caught:
        axpy(X, Y=Y)
    assert caught.value.code == "E1111"


def test_no_value_is_needed_to_compile(axpy):
    kernel = axpy.compile(N=8)
    assert [p.name for p in kernel.params] == ["X", "a", "Y", "n", "Z"]
    assert kernel(X, 3.0, Y, 1).tolist() == [1] + [0] * 7
    axpy.freeze()
    assert axpy(X, 4.0, Y).tolist() == (4 * X + 1).tolist()


def test_which_parameters_are_scalars():
    def kernel(
        A: T.Tensor((4,), T.float32), a: "float32", b: "T.int8", c: "int", d: int, e, f: T.bool
    ):
        pass

    found = {name: kind.name for name, kind in scalars_of(kernel).items()}
    assert found == {"a": "f32", "b": "i8", "f": "bool"}


def test_the_lazy_style_takes_values_of_python():
    @tile.jit(target="cpu")
    def make(n: T.int32):
        @T.prim_func
        def filled(A: T.Tensor((n,), T.int32)):
            with T.Kernel(n) as i:
                A[i] = n

        return filled

    for n in (2, 3):
        a = np.zeros(n, np.int32)
        make(n)(a)
        assert a.tolist() == [n] * n
