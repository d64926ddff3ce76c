"""Products of matrices of which two in every four elements are stored."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError

M, N, K = 32, 48, 64


def compressed(rng, group, word_bits):
    """A matrix, the elements that are kept of it, and words that say which."""
    held = group // 2
    kept = rng.integers(-4, 5, (M, K // 2))
    dense = np.zeros((M, K), np.int64)
    codes = np.zeros((M, K // group), np.int64)
    for row in range(M):
        for g in range(K // group):
            places = np.sort(rng.choice(group, held, replace=False))
            dense[row, g * group + places] = kept[row, g * held : (g + 1) * held]
            pair = (2 * places[0], 2 * places[0] + 1) if group == 2 else places
            codes[row, g] = pair[0] | pair[1] << 2
    per_word = word_bits // 4
    words = (codes.reshape(M, -1, per_word) << 4 * np.arange(per_word)).sum(2)
    return dense, kept, words.astype(f"uint{word_bits}").view(f"int{word_bits}")


@pytest.mark.parametrize(
    ("dtype", "total", "word_bits"),
    [
        ("float16", "float32", 16),
        ("float16", "float32", 8),
        ("float32", "float32", 16),
        ("int8", "int32", 32),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_products(run, rng, dtype, total, word_bits, turned):
    group = 2 if dtype == "float32" else 4
    dense, kept, words = compressed(rng, group, word_bits)
    b = rng.integers(-4, 5, (K, N))
    shapes = [kept.shape, words.shape, b.shape]
    if turned:
        shapes = [s[::-1] for s in shapes]

    @T.prim_func
    def kernel(
        A: T.Tensor(shapes[0], dtype),
        E: T.Tensor(shapes[1], f"int{word_bits}"),
        B: T.Tensor(shapes[2], dtype),
    ):
        C = T.empty((M, N), total)
        with T.Kernel(1, threads=64):
            a = T.alloc_shared(shapes[0], dtype)
            e = T.alloc_fragment(shapes[1], f"int{word_bits}")
            w = T.alloc_shared(shapes[2], dtype)
            acc = T.alloc_fragment((M, N), total)
            T.copy(A, a)
            T.copy(E, e)
            T.copy(B, w)
            T.gemm_sp(a, e, w, acc, turned, turned, turned, clear_accum=True)
            T.copy(acc, C)
        return C

    args = [kept.astype(dtype), words, b.astype(dtype)]
    (c,) = run(kernel, *(np.ascontiguousarray(x.T) if turned else x for x in args))
    np.testing.assert_array_equal(c, dense @ b)


def test_a_pipeline_of_sparse_products(run, rng):
    dense, kept, words = compressed(rng, 4, 16)
    b = rng.integers(-4, 5, (K, N)).astype(np.float16)

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K // 2), T.float16),
        E: T.Tensor((M, K // 16), T.int16),
        B: T.Tensor((K, N), T.float16),
    ):
        C = T.empty((M, N), T.float32)
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((M, 16), T.float16)
            e = T.alloc_shared((M, 2), T.int16)
            w = T.alloc_shared((32, N), T.float16)
            acc = T.alloc_fragment((M, N), T.float32)
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 16], a)
                T.copy(E[0, k * 2], e)
                T.copy(B[k * 32, 0], w)
                T.gemm_sp(a, e, w, acc)
            T.copy(acc, C)
        return C

    (c,) = run(kernel, kept.astype(np.float16), words, b)
    np.testing.assert_array_equal(c, dense @ b.astype(np.int64))


@pytest.mark.parametrize(
    ("code", "words", "kind"),
    [("E1402", 3, "int16"), ("E1403", 2, "float16"), ("E1402", 2, "int8")],
)
def test_words_that_do_not_fit_are_refused(code, words, kind):
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(1):
                a = T.alloc_shared((M, 16), T.float16)
                e = T.alloc_shared((M, words), kind)
                w = T.alloc_shared((32, N), T.float16)
                T.gemm_sp(a, e, w, T.alloc_fragment((M, N), T.float32))

    assert raised.value.code == code
    assert raised.value.help
