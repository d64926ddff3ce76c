"""Whole kernels: their text, and what they compute by the oracle."""

import time

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.interp import run
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify

from .kernels import attention, matmul


def test_matmul_text(golden):
    m = T.dynamic("m")
    func = matmul(m, 512, 256)
    assert verify(func.function) == ()
    golden(func.script())


def test_attention_text(golden):
    func = attention(2, 4, T.dynamic("length"), 64)
    assert verify(func.function) == ()
    golden(func.script())


@pytest.mark.parametrize("make", [lambda: matmul(100, 70, 65), lambda: attention(1, 2, 70, 16)])
def test_text_reads_back(make):
    function = make().function
    assert parse_function(print_function(function)) == function


def test_matmul_of_ragged_shapes():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((100, 65), (65, 70)))
    out = run(matmul(100, 70, 65).function, {"A": a, "B": b, "C": np.full((100, 70), np.nan, "f2")})
    np.testing.assert_array_equal(out["C"], a.astype(np.float64) @ b)


def test_causal_attention():
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((1, 2, 70, 16), np.float32) for _ in range(3))
    got = run(attention(1, 2, 70, 16).function, {"Q": q, "K": k, "V": v, "O": np.zeros_like(q)})
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) * 16**-0.5
    scores[..., np.triu(np.ones((70, 70), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(got["O"], expected, rtol=1e-5, atol=1e-6)


def test_several_kernels_and_a_workspace():
    @T.prim_func
    def two_steps(A: T.Tensor((64,), T.float32), B: T.Tensor((64,), T.float32)):
        doubled = T.alloc_global((64,), T.float32)
        with T.Kernel(2, threads=32) as bx:
            for i in T.Parallel(32):
                doubled[bx * 32 + i] = A[bx * 32 + i] * 2
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = doubled[63 - i]

    assert verify(two_steps.function) == ()
    assert "kernel @two_steps_2" in two_steps.script()
    a = np.arange(64, dtype=np.float32)
    out = run(two_steps.function, {"A": a, "B": np.zeros_like(a)})
    np.testing.assert_array_equal(out["B"], (a * 2)[::-1])


def test_outputs_of_empty_in_a_prim_func():
    @T.prim_func
    def both(A: T.Tensor((8,), T.float32)):
        low = T.empty(8, dtype=T.float16)
        high = T.empty((8,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(8):
                low[i] = A[i]
                high[i] = A[i] + 1
        return high, low

    assert both.function.results == ("high", "low")
    assert [p.name for p in both.function.params] == ["A", "low", "high"]


def test_strided_tensor():
    m, s = T.dynamic("m, s")

    @T.prim_func
    def column(A: T.StridedTensor((m, 4), (s, 1), T.float32), B: T.Tensor((m,), T.float32)):
        with T.Kernel(m) as i:
            B[i] = A[i, -1]

    assert "A: global f32[m, 4] strides (s, 1)" in column.script()
    a = np.arange(40, dtype=np.float32).reshape(5, 8)[:, :4]
    out = run(column.function, {"A": a, "B": np.zeros(5, np.float32)})
    np.testing.assert_array_equal(out["B"], a[:, 3])


def test_persistent_loop_visits_every_tile_once():
    @T.prim_func
    def visits(B: T.Tensor((5, 7), T.int32)):
        with T.Kernel(4) as block:
            for y, x in T.Persistent([5, 7], 4, block, group_size=3):
                B[y, x] = B[y, x] + 1

    assert verify(visits.function) == ()
    out = run(visits.function, {"B": np.zeros((5, 7), np.int32)})
    np.testing.assert_array_equal(out["B"], np.ones((5, 7)))


def test_annotations_change_the_declarations():
    @T.prim_func
    def annotated(A: T.Tensor((8, 8), T.float32), B: T.Tensor((16, 8), T.float32)):
        with T.Kernel(1):
            S = T.alloc_shared((16, 8), T.float32)
            T.annotate_layout({S: T.Layout((16, 8), lambda i, j: i * 12 + j)})
            T.annotate_safe_value({A: 7})
            T.copy(A[0:16, :], S)
            T.copy(S, B)

    text = annotated.script()
    assert "alloc S: shared f32[16, 8] layout [d0 (16:12) d1 (8:1)]" in text
    assert "A: global f32[8, 8] safe 7.0" in text
    a = np.ones((8, 8), np.float32)
    out = run(annotated.function, {"A": a, "B": np.zeros((16, 8), np.float32)})
    np.testing.assert_array_equal(out["B"][8:], np.full((8, 8), 7))


def test_any_and_all_of():
    @T.prim_func
    def asked(A: T.Tensor((2, 16), T.int32), B: T.Tensor((2, 2), T.bool)):
        with T.Kernel(2) as i:
            S = T.alloc_shared((16,), T.int32)
            T.copy(A[i, 0:16], S)
            B[i, 0] = T.any_of(S)
            B[i, 1] = T.all_of(S[0:8])

    assert verify(asked.function) == ()
    a = np.zeros((2, 16), np.int32)
    a[1, :9] = 5
    out = run(asked.function, {"A": a, "B": np.zeros((2, 2), bool)})
    np.testing.assert_array_equal(out["B"], [[False, False], [True, True]])


def test_atomics():
    @T.prim_func
    def histogram(A: T.Tensor((64,), T.int32), H: T.Tensor((4,), T.int32)):
        with T.Kernel(8) as bx:
            for i in T.serial(8):
                before = T.atomic_add(H[A[bx * 8 + i]], 1, return_prev=True)
                T.device_assert(before >= 0)

    assert verify(histogram.function) == ()
    a = np.random.default_rng(2).integers(0, 4, 64).astype(np.int32)
    out = run(histogram.function, {"A": a, "H": np.zeros(4, np.int32)})
    np.testing.assert_array_equal(out["H"], np.bincount(a, minlength=4))


def test_tracing_is_fast():
    matmul(128, 128, 128)
    start = time.perf_counter()
    for _ in range(20):
        matmul(128, 128, 128)
    # A few milliseconds on a quiet machine; the bound leaves room for a busy one.
    assert (time.perf_counter() - start) / 20 < 0.05
