"""Older spellings, aliases and hints: they are accepted, and none of them changes a result."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.pass_configs import CompatibilityWarning
from tile_ir.diag import TileError


def test_older_spellings(run, rng):
    n = T.symbolic("n")

    @T.prim_func
    def kernel(A: T.Buffer((n, 8), "float32"), B: T.Tensor[[n, 8], T.float]):
        with T.Kernel(T.cdiv(n, 4)) as bx:
            x = T.alloc_buffer((4, 8), "float32", scope="shared.dyn")
            y = T.alloc_buffer((8,), "float32", scope="local")
            T.copy(A[bx * 4, 0], x)
            for i in T.Serial(4):
                for j in T.Vectorized(8):
                    y[j] = x[i, j]
                for j in T.Unroll(8):
                    B[bx * 4 + i, j] = T.Cast("float32", y[j]) + T.__ldg(A[bx * 4 + i, j])

    a = rng.standard_normal((10, 8), dtype=np.float32)
    outcome = run(kernel, a, np.zeros_like(a))
    np.testing.assert_array_equal(outcome.args[1], a + a)


def test_hints_of_the_compilation(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.float32)):
        T.annotate_compile_flags("-O1")
        T.annotate_pass_configs({tile.PassConfigKey.TL_DISABLE_TMA_LOWER: True})
        B = T.empty((64,), T.float32)
        with T.Kernel(2, threads=(32, 2)) as bx:
            T.annotate_min_blocks_per_sm(2)
            T.annotate_l2_hit_ratio({A: 0.5})
            for i in T.Parallel(32, prefer_async=True):
                if T.likely(A[bx * 32 + i] > 0):
                    B[bx * 32 + i] = A[bx * 32 + i]
                else:
                    B[bx * 32 + i] = 0.0
        return B

    a = rng.standard_normal(64, dtype=np.float32)
    with pytest.warns(CompatibilityWarning) as seen:
        compiled = tile.compile(kernel, target="cpu", pass_configs={"any": 1}, verbose=False)
    assert [str(w.message).split(" has")[0] for w in seen] == [
        "warning[E1119]: tl.disable_tma_lower",
        "warning[E1119]: any",
    ]
    (b,) = run(compiled, a)
    np.testing.assert_array_equal(b, np.maximum(a, 0))


def test_a_loop_layout_changes_nothing(run):
    @T.prim_func
    def kernel(A: T.Tensor((32, 4), T.int32)):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((32, 4), T.int32)
            rows = T.Fragment((32, 4), forward_fn=lambda i, j: (i, j))
            for i, j in T.Parallel(32, 4, loop_layout=rows):
                x[i, j] = i * 10 + j
            T.copy(x, A)

    outcome = run(kernel, np.zeros((32, 4), np.int32))
    i, j = np.indices((32, 4))
    np.testing.assert_array_equal(outcome.args[0], i * 10 + j)


def test_parameters_that_overlap():
    """One array as input and output; what is read before a block writes it is its own element."""

    @T.prim_func
    def kernel(A: T.Tensor((100,), T.float32), B: T.Tensor((100,), T.float32)):
        T.annotate_restrict_buffers(A, B)
        with T.Kernel(100) as i:
            B[i] = A[i] * 2.0 + 1.0

    a = np.arange(100, dtype=np.float32)
    tile.compile(kernel, target="cpu")(a, a)
    np.testing.assert_array_equal(a, 2 * np.arange(100) + 1)


@pytest.mark.parametrize("swap", [False, True])
def test_python_values_choose_what_is_traced(run, swap):
    """A kernel under a Python condition, and sizes computed by plain Python."""
    block = max(4, 16 // 2)

    @T.prim_func
    def kernel(A: T.Tensor((16,), T.int32)):
        if swap:
            with T.Kernel(16 // block) as bx:
                for i in range(block):
                    A[bx * block + i] = -A[bx * block + i]
        else:
            with T.Kernel(1):
                T.clear(A)

    outcome = run(kernel, np.arange(16, dtype=np.int32))
    want = -np.arange(16) if swap else np.zeros(16)
    np.testing.assert_array_equal(outcome.args[0], want)


def test_text_annotations(run):
    """`from __future__ import annotations` keeps annotations as text; so may a kernel's author."""

    @T.prim_func
    def kernel(A: "T.Tensor((4,), T.int32)", n: "int32"):
        with T.Kernel(4) as i:
            A[i] = n

    outcome = run(kernel, np.zeros(4, np.int32), 6)
    assert outcome.args[0].tolist() == [6] * 4


def test_a_kernel_that_may_begin_early_means_the_same(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.float32), W: T.Tensor((64,), T.float32)):
        B = T.alloc_global((64,), T.float32)
        C = T.empty((64,), T.float32)
        with T.Kernel(2, threads=32) as bx:
            for i in T.Parallel(32):
                B[bx * 32 + i] = A[bx * 32 + i] + 1
        with T.Kernel(2, threads=32) as bx:
            T.annotate_dependent_launch(W)
            for i in T.Parallel(32):
                C[bx * 32 + i] = B[63 - (bx * 32 + i)] * W[bx * 32 + i]
        return C

    a, w = (rng.standard_normal(64, dtype=np.float32) for _ in range(2))
    (c,) = run(kernel, a, w)
    np.testing.assert_array_equal(c, (a + np.float32(1))[::-1] * w)


def test_what_a_dependent_launch_is_given():
    def traced(make):
        @T.prim_func
        def kernel(A: T.Tensor((64,), T.float32)):
            with T.Kernel(1, threads=32):
                T.annotate_dependent_launch(make(A))
                T.clear(A)

        return kernel

    for make, code in (
        (lambda A: 3, "E1405"),
        (lambda A: T.alloc_shared((4,), "float32"), "E1414"),
    ):
        with pytest.raises(TileError) as caught:
            traced(make)
        assert caught.value.code == code
    with pytest.raises(TileError) as caught:
        T.annotate_dependent_launch()
    assert caught.value.code == "E1003"
