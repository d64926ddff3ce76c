"""Rules of docs/semantics.md that no test of a feature holds by itself."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tile_frontend as tile
import tile_frontend.language as T

M, N = T.dynamic("M, N")


def test_atomic_updates_outside_a_tensor_do_nothing(run):
    """They are left out; one that gives the old value gives zero, or the value chosen for it."""

    @T.prim_func
    def kernel(A: T.Tensor((M,), T.int32), B: T.Tensor((M,), T.int32)):
        C = T.empty((2, 12), T.int32)
        with T.Kernel(1, threads=32):
            T.annotate_safe_value({B: -7})
            for i in T.serial(12):
                T.atomic_add(A[i - 2], i)
                C[0, i] = T.atomic_add(A[i - 2], 0, return_prev=True)
                C[1, i] = T.atomic_max(B[i - 2], 1, return_prev=True)
        return C

    outcome = run(kernel, np.zeros(8, np.int32), np.full(8, 3, np.int32))
    np.testing.assert_array_equal(outcome.args[0], np.arange(2, 10))
    np.testing.assert_array_equal(outcome.args[1], np.full(8, 3))
    np.testing.assert_array_equal(outcome[0][0], [0, 0, *range(2, 10), 0, 0])
    np.testing.assert_array_equal(outcome[0][1], [-7, -7, *[3] * 8, -7, -7])


@pytest.mark.parametrize("extent", [3, 5, 6, 9])
def test_a_constant_index_is_checked_like_any_other(run, extent):
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.int32)):
        B = T.empty((2,), T.int32)
        with T.Kernel(1, threads=32):
            B[0] = A[5] + 1
            A[5] = 9
            B[1] = A[M - 1]
        return B

    a = np.arange(10, 10 + extent, dtype=np.int32)
    outcome = run(kernel, a)
    want = a.copy()
    want[5:6] = 9
    np.testing.assert_array_equal(outcome[0], [a[5] + 1 if extent > 5 else 1, want[-1]])
    np.testing.assert_array_equal(outcome.args[0], want)


@pytest.mark.parametrize(("dtype", "value"), [("int32", 2), ("float16", 2.75), ("float32", 2.75)])
def test_the_value_outside_a_tensor_is_converted_like_those_inside(run, dtype, value):
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.float32)):
        B = T.empty((16,), dtype)
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((16,), dtype)
            T.annotate_safe_value({A: 2.75})
            T.copy(A[0], s)
            T.copy(s, B)
        return B

    a = np.arange(5, dtype=np.float32) + np.float32(0.5)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, [*a.astype(dtype), *[value] * 11])


def test_offsets_beyond_32_bits():
    """Two rows two billion elements apart, of memory that nobody touches in between."""
    pitch = T.dynamic("pitch", "int64")

    @T.prim_func
    def kernel(A: T.StridedTensor((M, 16), (pitch, 1), T.int8)):
        B = T.empty((M, 16), T.int8)
        with T.Kernel(M, threads=32) as i:
            for j in T.Parallel(16):
                B[i, j] = A[i, j]
                A[i, j] = A[i, j] + 1
        return B

    far = 2**31 + 8
    memory = np.zeros(far + 16, np.int8)
    rows = as_strided(memory, (2, 16), (far, 1))
    rows[:] = np.arange(32, dtype=np.int8).reshape(2, 16)
    b = tile.compile(kernel, target="cpu")(rows)
    np.testing.assert_array_equal(b, np.arange(32).reshape(2, 16))
    np.testing.assert_array_equal(memory[far:], np.arange(17, 33))


@pytest.mark.parametrize("name", ["exp2", "sqrt", "log2", "sin", "rsqrt"])
def test_functions_of_integers_are_of_float32(run, name):
    @T.prim_func
    def kernel(A: T.Tensor((16,), T.int32)):
        B = T.empty((16,), T.float64)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(16):
                B[i] = getattr(T, name)(A[i])
        return B

    references = {"sin": np.sin, "rsqrt": lambda x: 1 / np.sqrt(x)}
    a = np.arange(1, 17, dtype=np.int32)
    (b,) = run(kernel, a, rtol=1e-5)
    want = references.get(name, getattr(np, name, None))(a.astype(np.float64))
    np.testing.assert_allclose(b, want, rtol=1e-5)
    np.testing.assert_array_equal(b, b.astype(np.float32))


@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.parametrize("kind", ["reduce_sum", "reduce_max", "reduce_abssum"])
def test_batches_of_a_reduction_change_nothing(run, rng, kind, batch):
    @T.prim_func
    def kernel(A: T.Tensor((16, 40), T.float32)):
        B = T.empty((16,), T.float32)
        with T.Kernel(1, threads=64):
            f = T.alloc_fragment((16, 40), T.float32)
            r = T.alloc_fragment((16,), T.float32)
            T.copy(A, f)
            getattr(T, kind)(f, r, dim=-1, batch=batch)
            T.copy(r, B)
        return B

    a = rng.integers(-9, 10, (16, 40)).astype(np.float32)
    references = {
        "reduce_sum": a.sum(1),
        "reduce_max": a.max(1),
        "reduce_abssum": np.abs(a).sum(1),
    }
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, references[kind])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_in_a_sum_stays(run, rng, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((8, 32), dtype)):
        B, C = T.empty((8,), dtype), T.empty((8, 32), dtype)
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((8, 32), dtype)
            r = T.alloc_fragment((8,), dtype)
            T.copy(A, s)
            T.reduce_sum(s, r, dim=1)
            T.cumsum(s, dim=1)
            T.copy(r, B)
            T.copy(s, C)
        return B, C

    a = rng.integers(-4, 5, (8, 32)).astype(dtype)
    a[3, 7] = np.nan
    b, c = run(kernel, a)
    np.testing.assert_array_equal(np.isnan(b), np.arange(8) == 3)
    np.testing.assert_array_equal(np.isnan(c), np.isnan(np.cumsum(a, 1)))


@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize("reverse", [False, True])
def test_axes_of_scans_count_from_the_end_too(run, rng, dim, reverse):
    @T.prim_func
    def kernel(A: T.Tensor((12, 20), T.int32)):
        B = T.empty((12, 20), T.int32)
        with T.Kernel(1, threads=64):
            f = T.alloc_fragment((12, 20), T.int32)
            T.copy(A, f)
            T.cumsum(f, dim=dim, reverse=reverse)
            T.copy(f, B)
        return B

    a = rng.integers(-9, 10, (12, 20)).astype(np.int32)
    (b,) = run(kernel, a)
    turned = np.flip(a, dim) if reverse else a
    want = np.cumsum(turned, dim)
    np.testing.assert_array_equal(b, np.flip(want, dim) if reverse else want)


@pytest.mark.parametrize("extents", [(1, 1), (3, 5), (7, 31), (13, 33)], ids=str)
@pytest.mark.parametrize("threads", [32, 128])
def test_extents_that_no_number_of_threads_divides(run, rng, extents, threads):
    """Threads that have no element do nothing; what all of them hold is written once."""
    m, n = extents

    @T.prim_func
    def kernel(A: T.Tensor((m, n), T.float32), counts: T.Tensor((m, n), T.int32)):
        B, C = T.empty((m, n), T.float32), T.empty((m,), T.float32)
        with T.Kernel(1, threads=threads):
            f = T.alloc_fragment((m, n), T.float32)
            r = T.alloc_fragment((m,), T.float32)
            T.copy(A, f)
            T.reduce_max(f, r, dim=1)
            for i, j in T.Parallel(m, n):
                f[i, j] = f[i, j] - r[i]
                T.atomic_add(counts[i, j], 1)
            T.copy(f, B)
            T.copy(r, C)
        return B, C

    a = rng.integers(-99, 100, (m, n)).astype(np.float32)
    outcome = run(kernel, a, np.zeros((m, n), np.int32))
    np.testing.assert_array_equal(outcome[0], a - a.max(1, keepdims=True))
    np.testing.assert_array_equal(outcome[1], a.max(1))
    np.testing.assert_array_equal(outcome.args[1], 1)


def test_the_order_of_iterations_is_seen_only_where_loops_are_serial(run, rng):
    """Each iteration of a parallel loop sees what statements before the loop left."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), T.float32)):
        B = T.empty((64,), T.float32)
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((64,), T.float32)
            t = T.alloc_shared((64,), T.float32)
            T.copy(A, s)
            for _step in T.serial(3):
                for i in T.Parallel(64):
                    t[i] = s[63 - i]
                for i in T.Parallel(64):
                    s[i] = t[(i + 1) % 64] * 2.0
            T.copy(s, B)
        return B

    a = rng.integers(-9, 10, 64).astype(np.float32)
    want = a
    for _ in range(3):
        want = 2 * np.roll(want[::-1], -1)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, want)


POLICIES = [T.GemmWarpPolicy.Square, T.GemmWarpPolicy.FullRow, T.GemmWarpPolicy.FullCol]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)
@pytest.mark.parametrize("clear", [False, True])
def test_products_add_to_what_is_there(run, rng, policy, clear):
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float16), B: T.Tensor((32, 64), T.float16)):
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), T.float16)
            b = T.alloc_shared((32, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.fill(c, 5.0)
            T.gemm(a, b, c, policy=policy, clear_accum=clear, k_pack=1)
            T.gemm(a, b, c, policy=policy)
            T.copy(c, C)
        return C

    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((64, 32), (32, 64)))
    (c,) = run(kernel, a, b)
    want = 2 * (a.astype(np.float32) @ b.astype(np.float32)) + (0 if clear else 5)
    np.testing.assert_array_equal(c, want)


def test_float32_products_are_of_float32(run):
    """Products that the ten bits of tf32 would lose."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), T.float32), B: T.Tensor((32, 32), T.float32)):
        C = T.empty((32, 32), T.float32)
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_shared((32, 32), T.float32)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)
        return C

    a = np.eye(32, dtype=np.float32) * np.float32(1 + 2.0**-20)
    b = np.eye(32, dtype=np.float32)
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, a)


def test_a_tensor_that_is_never_used_may_be_none():
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.float32), unused: T.Tensor((M,), T.float32)):
        B = T.empty((M,), T.float32)
        with T.Kernel(1, threads=32):
            T.copy(A, B)
        return B

    a = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(tile.compile(kernel, target="cpu")(a, None), a)


@pytest.mark.parametrize("length", [0, 3, 8])
def test_statements_beside_a_kernel_run_on_the_host(run, length):
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.int32)):
        B = T.empty((M,), T.int32)
        assert M <= 8, "at most eight"
        last = M - 1
        with T.Kernel(M, threads=32) as i:
            B[i] = A[last - i]
        return B

    a = np.arange(length, dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a[::-1])


@pytest.mark.parametrize("threads", [None, "auto", 32, 96, (16, 8), 256])
def test_no_result_depends_on_the_number_of_threads(run, rng, threads):
    @T.prim_func
    def kernel(A: T.Tensor((37, 50), T.float32)):
        B = T.empty((37,), T.float32)
        with T.Kernel(1, threads=threads):
            f = T.alloc_fragment((37, 50), T.float32)
            r = T.alloc_fragment((37,), T.float32)
            T.copy(A, f)
            T.reduce_sum(f, r, dim=1)
            T.copy(r, B)
        return B

    a = rng.integers(-9, 10, (37, 50)).astype(np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.sum(1))


def test_a_scalar_read_beside_a_pipeline_is_the_one_before_the_copy(run, rng):
    """A name for an element keeps its value while the loop brings the next tile."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 32), T.float32)):
        B = T.empty((4, 32), T.float32)
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((32,), T.float32)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0:32], s)
                first = s[0]
                for i in T.Parallel(32):
                    B[k, i] = s[i] - first
        return B

    a = rng.integers(-9, 10, (4, 32)).astype(np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a - a[:, :1])
