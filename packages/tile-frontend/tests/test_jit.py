"""Both styles of `@tile.jit`, what is specialized on what, and what is remembered."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError

from .kernels import matmul


def make_scale(target):
    @tile.jit(target=target)
    def scale(A, factor=2.0, block=16):
        M = T.const("M")
        A: T.Tensor((M, 8), T.float32)
        B = T.empty((M, 8), T.float32)
        with T.Kernel(T.ceildiv(M, block)) as bx:
            for i, j in T.Parallel(block, 8):
                B[bx * block + i, j] = A[bx * block + i, j] * factor
        return B

    return scale


def make_negated(target):
    @tile.jit(target=target)
    def negated(A):
        m = T.dynamic("m")
        A: T.Tensor((m,), T.int32)
        B = T.empty((m,), T.int32)
        with T.Kernel(m) as i:
            B[i] = -A[i]
        return B

    return negated


def test_eager_kernel_compiles_and_runs(oracle, toolchain):
    scale = make_scale(oracle)
    a = np.arange(160, dtype=np.float32).reshape(20, 8)
    np.testing.assert_array_equal(scale(a), a * 2)
    np.testing.assert_array_equal(scale(a, 3.0), a * 3)
    np.testing.assert_array_equal(scale(a, factor=3.0), a * 3)
    np.testing.assert_array_equal(scale(A=a, block=4), a * 2)
    # 2.0, 3.0 and another block: three kernels; the keyword form is the second one.
    assert toolchain.compiled == 3


def test_a_keyword_that_the_function_has_not_is_refused(oracle, toolchain):
    scale = make_scale(oracle)
    for call in (
        lambda: scale(np.ones((4, 8), np.float32), blok=4),
        lambda: scale.compile(M=4, N=8),
    ):
        with pytest.raises(TileError, match="unexpected keyword argument") as caught:
            call()
        assert caught.value.code == "E1111"
    assert toolchain.compiled == 0


def test_a_dynamic_dimension_is_no_part_of_the_build(oracle, toolchain):
    with pytest.raises(TileError, match=r"'m' is a T\.dynamic dimension") as caught:
        make_negated(oracle).compile(m=4)
    assert caught.value.code == "E1111"
    assert "--dim" in caught.value.help
    assert toolchain.compiled == 0


def test_eager_kernel_is_one_per_value_of_const(oracle, toolchain):
    scale = make_scale(oracle)
    for rows in (4, 9, 4, 9):
        a = np.ones((rows, 8), np.float32)
        np.testing.assert_array_equal(scale(a), a * 2)
    assert toolchain.compiled == 2


def test_dynamic_dimensions_share_one_build(oracle, toolchain):
    negated = make_negated(oracle)
    for rows in (1, 3, 0, 50):
        a = np.arange(rows, dtype=np.int32)
        np.testing.assert_array_equal(negated(a), -a)
    assert toolchain.compiled == 1


def test_const_values_are_python_ints_in_the_body(oracle):
    seen = []

    @tile.jit(target=oracle)
    def kernel(A, B):
        M = T.const("M")
        A: T.Tensor((M, 2 * M), T.float32)
        N = T.const("N")
        B: T.Tensor((M + N,), T.float32)
        assert M % 2 == 0, "even"
        seen.append((M, N, [0] * N, min(M, 3)))
        with T.Kernel(M):
            B[0] = A[0, 0]

    kernel(np.zeros((4, 8), np.float32), np.zeros(7, np.float32))
    assert seen[-1] == (4, 3, [0, 0, 0], 3)
    with pytest.raises(AssertionError, match="even"):
        kernel(np.zeros((3, 6), np.float32), np.zeros(7, np.float32))


def test_signature_annotations_declare_tensors(oracle):
    m = T.dynamic("m")

    @tile.jit(target=oracle)
    def kernel(A: T.Tensor[[m, 4], T.float16], B: T.Tensor((m,), "float32")):
        with T.Kernel(m) as i:
            B[i] = A[i, 0] + A[i, 3]

    a = np.arange(12, dtype=np.float16).reshape(3, 4)
    b = np.zeros(3, np.float32)
    assert kernel(a, b) is None
    np.testing.assert_array_equal(b, [3, 11, 19])


def test_several_outputs_come_as_a_list(oracle):
    @tile.jit(target=oracle)
    def split(A):
        N = T.const("N")
        A: T.Tensor((2, N), T.float32)
        first, second = T.empty((N,), T.float32), T.empty((N,), T.float16)
        with T.Kernel(N) as i:
            first[i] = A[0, i]
            second[i] = A[1, i]
        return first, second

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = split(a)
    assert isinstance(out, list)
    np.testing.assert_array_equal(out[0], a[0])
    assert out[1].dtype == np.float16
    np.testing.assert_array_equal(out[1], a[1])


def test_compile_by_name_without_arrays(oracle):
    scale = make_scale(oracle)
    kernel = scale.compile(M=4, block=2)
    assert isinstance(kernel, tile.JITKernel)
    a = np.ones((4, 8), np.float32)
    np.testing.assert_array_equal(kernel(a), a * 2)
    assert "tiles (bx) in (2)" in kernel.ir
    assert scale.compile(M=4, block=2) is kernel
    assert scale.get_kernel_source(M=4, block=2) == kernel.kernel_source
    assert scale.get_tir(M=4, block=2).script() == kernel.ir


def test_lazy_style_returns_a_kernel(oracle, toolchain):
    @tile.jit(out_idx=[-1], target=oracle)
    def product(M, N, K, block=16):
        return matmul(M, N, K, block, block, block)

    # The inner function is defined elsewhere, so only the call tells that this is the lazy style.
    kernel = product(20, 30, 40) if product.is_lazy else None
    assert kernel is None

    @tile.jit(out_idx=-1, target=oracle)
    def doubled(M, dtype="float32"):
        @T.prim_func
        def main(A: T.Tensor((M,), dtype), B: T.Tensor((M,), dtype)):
            with T.Kernel(M) as i:
                B[i] = A[i] * 2

        return main

    assert doubled.is_lazy
    kernel = doubled(5)
    assert doubled(M=5) is kernel
    assert doubled(5, dtype="float16") is not kernel
    assert toolchain.compiled == 2
    a = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(kernel(a), a * 2)
    assert kernel.out_idx == [1]


def test_function_that_returns_a_prim_func_made_elsewhere(oracle):
    @tile.jit(out_idx=[-1], target=oracle)
    def product(M, N, K):
        return matmul(M, N, K, 16, 16, 16)

    kernel = product(20, 30, 40)
    a, b = np.ones((20, 40), np.float16), np.ones((40, 30), np.float16)
    np.testing.assert_array_equal(kernel(a, b), np.full((20, 30), 40))


@pytest.mark.parametrize("out_idx", [2, -1, [2], (-1,)])
def test_out_idx_forms(oracle, out_idx):
    kernel = tile.compile(matmul(8, 8, 8, 8, 8, 8), out_idx=out_idx, target=oracle)
    ones = np.ones((8, 8), np.float16)
    np.testing.assert_array_equal(kernel(ones, ones), ones * 8)


def test_without_out_idx_the_output_is_an_argument(oracle):
    kernel = tile.compile(matmul(8, 8, 8, 8, 8, 8), target=oracle)
    ones, c = np.ones((8, 8), np.float16), np.zeros((8, 8), np.float16)
    assert kernel(ones, ones, c) is None
    np.testing.assert_array_equal(c, ones * 8)


def test_par_compile_keeps_the_order(oracle):
    scale = make_scale(oracle)
    kernels = scale.par_compile([{"M": 4}, {"M": 6}, {"M": 8}], num_workers=3)
    rows = [k.function.params[0].buffer.shape[0].value for k in kernels]
    assert rows == [4, 6, 8]
    made = tile.par_compile([matmul(8, 8, 8), matmul(16, 8, 8)], target=oracle)
    assert [k.function.params[0].buffer.shape[0].value for k in made] == [8, 16]


def test_par_compile_can_skip_errors(oracle):
    scale = make_scale(oracle)
    good, bad = scale.par_compile([{"M": 4}, {"M": 4, "block": 0}], ignore_error=True)
    assert good is not None
    assert bad is None
    with pytest.raises((TileError, ZeroDivisionError)):
        scale.par_compile([{"M": 4, "block": "text"}])


def test_explain_prints_decisions_only(oracle, capsys):
    kernel = tile.compile(matmul(8, 8, 8), target=oracle)
    text = kernel.explain()
    assert capsys.readouterr().out == text + "\n"
    assert text.splitlines() == [
        'kernel.speed = ["slow", 1]: there is no other',
        "    not fast: 2 not built",
    ]
    assert kernel.explain("other") == "no decisions under other"


def test_kernel_tells_about_itself(oracle, tmp_path):
    kernel = tile.compile(matmul(8, 8, 8), target=oracle, debug_root_path=str(tmp_path))
    assert kernel.get_kernel_source() == kernel.get_host_source() == kernel.ir
    assert kernel.source_path.read_text() == kernel.kernel_source
    assert (tmp_path / "matmul.tir").read_text() == kernel.ir
    assert repr(kernel) == "<kernel matmul(A, B, C) for oracle -arch=oracle>"
    assert [p.name for p in kernel.params] == ["A", "B", "C"]
    assert {"key", "load", "toolchain"} <= set(kernel.timings)


def test_numerics_reach_the_program(oracle):
    kernel = tile.compile(matmul(8, 8, 8), target=oracle, numerics="strict")
    assert kernel.function.numerics == "strict"
    with pytest.raises(TileError) as raised:
        tile.compile(matmul(8, 8, 8), target=oracle, numerics="loose")
    assert raised.value.code == "E1503"


def test_future_annotations_are_evaluated(oracle, load_text):
    module = load_text(
        """
from __future__ import annotations
import tile_frontend as tile
import tile_frontend.language as T

def make(rows, dtype, target):
    @tile.jit(target=target)
    def eager(A):
        A: T.Tensor((rows,), dtype)
        B = T.empty((4,), T.int32)
        with T.Kernel(4) as i:
            B[i] = A[i] + 1
        return B

    @T.prim_func
    def lazy(A: T.Tensor((rows,), dtype), n: T.int32):
        with T.Kernel(rows) as i:
            A[i] = n

    return eager, lazy
"""
    )
    eager, lazy = module.make(4, T.int32, oracle)
    np.testing.assert_array_equal(eager(np.arange(4, dtype=np.int32)), [1, 2, 3, 4])
    kernel = tile.compile(lazy, target=oracle)
    a = np.zeros(4, np.int32)
    kernel(a, 7)
    np.testing.assert_array_equal(a, [7, 7, 7, 7])


def test_unhashable_python_arguments_are_compared_by_value(oracle, toolchain):
    @tile.jit(target=oracle)
    def weighted(A, weights):
        A: T.Tensor((4,), T.float32)
        B = T.empty((1,), T.float32)
        with T.Kernel(1):
            total = T.alloc_var(T.float32, init=0)
            for n, w in enumerate(weights):
                total += A[n] * w
            B[0] = total
        return B

    a = np.ones(4, np.float32)
    assert weighted(a, [1.0, 2.0])[0] == 3
    assert weighted(a, [1.0, 2.0])[0] == 3
    assert weighted(a, [1.0, 5.0])[0] == 6
    assert toolchain.compiled == 2


def make_scaled(target):
    @tile.jit(target=target)
    def scaled(A, factor, offsets=(0, 0)):
        n = T.const("n")
        A: T.Tensor((n,), T.float32)
        C = T.empty((n,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(n):
                C[i] = A[i] * factor + offsets[0] / 2 if offsets[0] else A[i] * factor
        return C

    return scaled


def test_equal_python_values_that_mean_something_else_get_their_own_kernel(oracle):
    scaled = make_scaled(oracle)
    x = np.ones(3, np.float32)
    assert np.signbit(scaled(x, -0.0)).all()
    assert not np.signbit(scaled(x, 0.0)).any()
    assert [scaled(x, 1, (1, 0))[0], scaled(x, 1, (1.0, 0))[0]] == [1.5, 1.5]
    assert len(scaled._kernels) == 4


def test_the_short_way_is_only_for_calls_like_the_last(oracle):
    torch = pytest.importorskip("torch", reason="arrays of torch")
    scaled = make_scaled(oracle)
    x, y = torch.ones(3), torch.ones(4)
    for _ in range(2):
        assert scaled(x, 2).tolist() == [2] * 3
        assert scaled(y, 2).tolist() == [2] * 4
        assert scaled(y, factor=3).tolist() == [3] * 4
        assert scaled(y, 3, offsets=(2, 0)).tolist() == [4] * 4
        assert scaled(torch.nn.Parameter(y), 2).tolist() == [2] * 4
        assert scaled(y.numpy(), 2).tolist() == [2] * 4
        assert scaled(y, True).tolist() == [1] * 4
        with pytest.raises(TileError, match="not contiguous"):
            scaled(torch.arange(8.0)[::2], 2)
        with torch.inference_mode():
            assert scaled(x, 2).tolist() == scaled(x, 2).tolist() == [2] * 3
    with pytest.raises(TileError) as info:
        scaled(x)
    assert info.value.code == "E1113"
    with pytest.raises(TileError) as info:
        scaled(x, object.__new__(type("Odd", (), {"__hash__": None})))
    assert info.value.code == "E1112"
