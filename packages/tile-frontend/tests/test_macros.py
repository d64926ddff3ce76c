"""Macros: traced in place, by value or by reference, with the call site in errors."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.interp import run


@T.macro
def larger(a, b):
    result = T.alloc_var(T.float32, init=b)
    if a > b:
        result = a
    return result


@T.macro
def accumulate(total: T.Ref, value):
    total += value


@T.macro
def copy_through(src, dst):
    tile = T.alloc_shared((8,), T.float32)
    T.copy(src, tile)
    T.copy(tile, dst)


def test_values_are_returned_and_control_flow_is_traced():
    @T.prim_func
    def kernel(A: T.Tensor((8,), T.float32), B: T.Tensor((8,), T.float32)):
        with T.Kernel(8) as i:
            B[i] = larger(A[i], 0.5)

    a = np.linspace(0, 1, 8, dtype=np.float32)
    out = run(kernel.function, {"A": a, "B": np.zeros_like(a)})
    np.testing.assert_array_equal(out["B"], np.maximum(a, np.float32(0.5)))


def test_names_of_each_call_are_its_own():
    @T.prim_func
    def kernel(A: T.Tensor((16,), T.float32), B: T.Tensor((16,), T.float32)):
        with T.Kernel(1):
            copy_through(A[0:8], B[8])
            copy_through(A[8:16], B[0])

    assert "alloc tile: " in kernel.script()
    assert "alloc tile_1: " in kernel.script()
    a = np.arange(16, dtype=np.float32)
    out = run(kernel.function, {"A": a, "B": np.zeros_like(a)})
    np.testing.assert_array_equal(out["B"], np.roll(a, 8))


def test_reference_to_a_scalar_and_to_an_element():
    @T.prim_func
    def kernel(A: T.Tensor((8,), T.float32), B: T.Tensor((2,), T.float32)):
        with T.Kernel(1):
            x = T.alloc_var(T.float32, init=0)
            B[1] = 100.0
            for i in T.serial(8):
                accumulate(x, A[i])
                accumulate(B[1], A[i])
            B[0] = x

    a = np.arange(8, dtype=np.float32)
    out = run(kernel.function, {"A": a, "B": np.zeros(2, np.float32)})
    np.testing.assert_array_equal(out["B"], [28, 128])


def test_arguments_by_value_do_not_change_the_caller():
    @T.macro
    def bump(v):
        v = v + 1
        return v

    @T.prim_func
    def kernel(B: T.Tensor((2,), T.int32)):
        with T.Kernel(1):
            x = T.alloc_var(T.int32, init=5)
            B[1] = bump(x)
            B[0] = x

    out = run(kernel.function, {"B": np.zeros(2, np.int32)})
    np.testing.assert_array_equal(out["B"], [5, 6])


def test_methods_and_recursion_on_python_values():
    class Sum:
        def __init__(self, width):
            self.width = width

        @T.macro
        def of(self, A, start, count):
            if count == 1:
                return A[start] * self.width
            half = count // 2
            return self.of(A, start, half) + self.of(A, start + half, count - half)

    tree = Sum(2.0)

    @T.prim_func
    def kernel(A: T.Tensor((7,), T.float32), B: T.Tensor((1,), T.float32)):
        with T.Kernel(1):
            B[0] = tree.of(A, 0, 7)

    a = np.arange(7, dtype=np.float32)
    out = run(kernel.function, {"A": a, "B": np.zeros(1, np.float32)})
    assert out["B"][0] == 42


def test_errors_show_where_the_macro_was_called():
    @T.macro
    def wrong(A):
        A[0, 0, 0] = 1.0

    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((7,), T.float32)):
            with T.Kernel(1):
                wrong(A)

    span = raised.value.span
    assert raised.value.code == "E1201"
    assert "A[0, 0, 0] = 1.0" in span.text()
    assert "wrong(A)" in span.parent.text()


def test_statements_of_a_macro_carry_the_call_site():
    @T.prim_func
    def kernel(A: T.Tensor((16,), T.float32), B: T.Tensor((16,), T.float32)):
        with T.Kernel(1):
            copy_through(A[0:8], B[8])

    inner = kernel.function.body[0].body[0].body[1]
    assert "T.copy(src, tile)" in inner.span.text()
    assert "copy_through(A[0:8], B[8])" in inner.span.parent.text()
