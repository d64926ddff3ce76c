"""Names of inner scopes of Python: parameters of lambdas, variables of comprehensions, nested
functions. They hide names of the kernel, whatever became of those."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.interp import run


def ran(func):
    return run(func.function, {"B": np.zeros(8, np.int32)})["B"].tolist()


def test_parameters_named_like_an_ended_loop():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = i
            double = lambda i: i * 2  # noqa: E731 -- what is tested
            keyword = lambda *, i=3, **more: i + more["j"]  # noqa: E731 -- what is tested
            several = lambda j, /, *i: j + i[0] + i[1]  # noqa: E731 -- what is tested
            B[4] = double(5)
            B[5] = keyword(j=4)
            B[6] = several(1, 2, 3)
            B[7] = (lambda x: (lambda i: i + x)(x + 1))(10)

    assert ran(kernel) == [0, 1, 2, 3, 10, 7, 6, 21]


def test_variables_of_comprehensions_named_like_an_ended_loop():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for i in T.serial(2):
                B[i] = 1
            B[2] = sum([i * i for i in range(4)])
            B[3] = sum(i * j for i in (1, 2) for j in (i, 10) if j > i)
            B[4] = {i: i + 1 for i in (7,)}[7]
            B[5] = len({i for i, _ in ((1, 2), (1, 3))})
            B[6] = sum(i for (i, *_) in ((5, 1, 2), (6, 3, 4)))

    assert ran(kernel) == [1, 1, 14, 30, 8, 1, 11, 0]


def test_parameters_of_the_kernel_are_hidden():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            B[0] = (lambda B: B + 1)(4)
            B[1] = next(B * 3 for B in (5,))

    assert ran(kernel)[:2] == [5, 15]


def test_a_nested_function_has_its_own_names():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = i

            def twice(i):
                j = i * 2
                return j

            for j in T.serial(2):
                B[j + 4] = twice(j + 1)

    assert ran(kernel) == [0, 1, 2, 3, 2, 4, 0, 0]


def test_a_hidden_name_is_read_in_a_loop_and_bound_anew():
    """Not the name that the comprehension reads: the one of the loop."""

    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            x = 1
            for k in T.serial(2):
                B[k] = sum(x for x in (1, 2))
                x = k + 5
                B[k + 2] = x

    assert ran(kernel)[:4] == [3, 3, 5, 6]


def make_default():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = i
            B[4] = (lambda i=i: i)()

    return kernel


def make_first_source():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = i
            B[4] = sum(i * 2 for i in (i, 2))

    return kernel


def make_free():
    @T.prim_func
    def kernel(B: T.Tensor((8,), T.int32)):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = i
            B[4] = (lambda j: i + j)(1)

    return kernel


@pytest.mark.parametrize("make", [make_default, make_first_source, make_free])
def test_what_an_inner_scope_takes_from_outside_has_to_be_alive(make):
    with pytest.raises(TileError, match="'i' was bound in a loop that has ended") as caught:
        make()
    assert caught.value.code == "E1006"
