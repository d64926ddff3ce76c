"""Second names, words of memory, hints: what has a plainer form means what that form means."""

import numpy as np
import pytest

import tile_frontend.language as T

ROWS, COLUMNS = 16, 64


def of_each(function, dtype="int32", count=64):
    """A kernel of one vector: `function` of each element."""

    @T.prim_func
    def kernel(A: T.Tensor((count,), dtype)):
        B = T.empty((count,), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(count):
                B[i] = function(A[i])
        return B

    return kernel


BITS = {
    "bitwise_and": (lambda x: T.bitwise_and(x, 0xF0), lambda x: x & 0xF0),
    "bitwise_or": (lambda x: T.bitwise_or(x, 0xF0), lambda x: x | 0xF0),
    "bitwise_xor": (lambda x: T.bitwise_xor(x, 0xF0), lambda x: x ^ 0xF0),
    "bitwise_not": (lambda x: T.bitwise_not(x), lambda x: ~x),
    "shift_left": (lambda x: T.shift_left(x, 3), lambda x: x << 3),
    "shift_right": (lambda x: T.shift_right(x, 3), lambda x: x >> 3),
    "popcount": (lambda x: T.popcount(x), np.vectorize(lambda x: int(x & 0xFFFFFFFF).bit_count())),
    "clz": (lambda x: T.clz(x), np.vectorize(lambda x: 32 - int(x & 0xFFFFFFFF).bit_length())),
}


@pytest.mark.parametrize("name", BITS)
def test_bits(run, rng, name):
    made, reference = BITS[name]
    a = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    a[:4] = 0, 1, -1, -(2**31)
    (b,) = run(of_each(made), a)
    np.testing.assert_array_equal(b, reference(a.astype(np.int64)).astype(np.int32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_next_to_another(run, rng, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((2, 64), dtype)):
        B = T.empty((64,), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = T.nextafter(A[0, i], A[1, i])
        return B

    a = rng.standard_normal((2, 64)).astype(dtype)
    a[:, :4] = [[0, 1, 1, np.inf], [1, 1, np.inf, 0]]
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.nextafter(a[0], a[1]))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_predicates_as_numbers(run, dtype):
    """A truth value is 1, whatever it is converted to."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), dtype)):
        B = T.empty((3, 4), T.float32)
        with T.Kernel(4, threads=32) as i:
            B[0, i] = T.isfinite(A[i])
            B[1, i] = T.cast(T.isinf(A[i]), T.float32)
            B[2, i] = T.cast(T.isnan(A[i]), T.int32) * 3
        return B

    (b,) = run(kernel, np.array([1, np.inf, -np.inf, np.nan], dtype))
    np.testing.assert_array_equal(b, [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 3]])


def test_reciprocals_that_are_fast_are_near(run, rng):
    a = rng.uniform(0.1, 10, 64).astype(np.float32)
    (b,) = run(of_each(T.fast_rcp, "float32"), a, rtol=1e-5)
    np.testing.assert_allclose(b, 1 / a.astype(np.float64), rtol=1e-5)


@pytest.mark.parametrize(("value", "step"), [(100, 32), (96, 32), (1, 7), (0, 5)])
def test_rounding_up(run, value, step):
    @T.prim_func
    def kernel(n: T.int32):
        B = T.empty((2,), T.int32)
        with T.Kernel(1, threads=32):
            B[0] = T.align_up(n, step)
            B[1] = T.align_up(value, step) + T.cdiv(value, step)
        return B

    (b,) = run(kernel, value)
    up = -(-value // step)
    np.testing.assert_array_equal(b, [up * step, up * step + up])


LEAVING = {"loop_break": T.loop_break, "break_loop": T.break_loop}


@pytest.mark.parametrize("leave", LEAVING)
def test_leaving_a_loop(run, leave):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32)):
        B = T.empty((2,), T.int32)
        with T.Kernel(1, threads=32):
            total = T.alloc_var(T.int32, init=0)
            odd = T.alloc_var(T.int32, init=0)
            for i in T.serial(64):
                if total > 100:
                    LEAVING[leave]()
                total = total + A[i]
                if A[i] % 2 == 0:
                    T.continue_loop()
                odd = odd + 1
            B[0] = total
            B[1] = odd
        return B

    a = np.arange(64, dtype=np.int32)
    (b,) = run(kernel, a)
    steps = int(np.argmax(np.cumsum(a) > 100)) + 1
    np.testing.assert_array_equal(b, [a[:steps].sum(), (a[:steps] % 2).sum()])


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_indices_of_a_block(run, axes):
    grid = (2, 3, 4)[:axes]

    @T.prim_func
    def kernel():
        B = T.empty((axes, *reversed(grid)), T.int32)
        with T.Kernel(*grid, threads=32):
            place = T.get_block_bindings()
            place = list(place)[:axes] if isinstance(place, (list, tuple)) else [place]
            for axis in range(axes):
                B[(axis, *reversed(place))] = T.get_block_binding(axis)
        return B

    (b,) = run(kernel)
    np.testing.assert_array_equal(b, np.indices(grid[::-1])[::-1])


WORDS = {
    32: (T.ldg32, T.stg32, T.lds32, T.sts32),
    64: (T.ldg64, T.stg64, T.lds64, T.sts64),
    128: (T.ldg128, T.stg128, T.lds128, T.sts128),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@pytest.mark.parametrize("width", WORDS)
def test_words_through_shared_memory(run, rng, width, dtype):
    load, store, load_shared, store_shared = WORDS[width]
    step = width // T.dtype(dtype).bits
    count = 32 * step

    @T.prim_func
    def kernel(A: T.Tensor((count,), dtype)):
        B = T.empty((count,), dtype)
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((count,), dtype)
            for i in T.Parallel(32):
                store_shared(s[i * step], load(A[i * step]))
            for i in T.Parallel(32):
                store(B[i * step], load_shared(s[count - step - i * step]))
        return B

    a = rng.integers(-100, 100, count).astype(dtype)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.reshape(32, step)[::-1].reshape(-1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
def test_words_of_256_bits(run, rng, dtype):
    step = 256 // T.dtype(dtype).bits

    @T.prim_func
    def kernel(A: T.Tensor((8 * step,), dtype)):
        B = T.empty((8 * step,), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                T.stg256(B[i * step], T.ldg256(A[(7 - i) * step]))
        return B

    a = rng.integers(0, 100, 8 * step).astype(dtype)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.reshape(8, step)[::-1].reshape(-1))


@pytest.mark.parametrize(("add", "width"), [("atomic_addx2", 2), ("atomic_addx4", 4)])
def test_atomic_additions_of_several_elements(run, rng, add, width):
    @T.prim_func
    def kernel(A: T.Tensor((64, width), T.float32), B: T.Tensor((4, width), T.float32)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                getattr(T, add)(B[i % 4, 0], A[i, 0])

    a = rng.integers(-50, 50, (64, width)).astype(np.float32)
    b = rng.integers(-50, 50, (4, width)).astype(np.float32)
    outcome = run(kernel, a, b)
    want = b + a.reshape(16, 4, width).sum(0)
    np.testing.assert_array_equal(outcome.args[1], want)


@pytest.mark.parametrize("name", ["im2col", "c2d_im2col"])
def test_images_by_either_name(run, rng, name):
    @T.prim_func
    def kernel(A: T.Tensor((1, 5, 5, 4), T.float32)):
        B = T.empty((32, 36), T.float32)
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((32, 36), T.float32)
            getattr(T, name)(A, s, 0, 0, 3, 1, 1, 1)
            T.copy(s, B)
        return B

    a = rng.standard_normal((1, 5, 5, 4)).astype(np.float32)
    (b,) = run(kernel, a)
    padded = np.pad(a[0], ((1, 1), (1, 1), (0, 0)))
    rows = [padded[y : y + 3, x : x + 3].reshape(-1) for y in range(5) for x in range(5)]
    np.testing.assert_array_equal(b[:25], np.array(rows))
    np.testing.assert_array_equal(b[25:], 0)


@T.macro
def doubled(tile: T.SharedBuffer((ROWS, COLUMNS), T.float32), out: T.FragmentBuffer((ROWS,))):
    T.reduce_sum(tile, out, dim=1)
    for i in T.Parallel(ROWS):
        out[i] = out[i] * 2.0


@T.macro
def counted(steps: T.LocalBuffer((1,), T.int32), by: T.Ref):
    steps[0] = steps[0] + 2
    by += steps[0]


def test_annotations_of_macros(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), T.float32)):
        B, C = T.empty((ROWS,), T.float32), T.empty((1,), T.int32)
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((ROWS, COLUMNS), T.float32)
            f = T.alloc_fragment((ROWS,), T.float32)
            steps = T.alloc_local((1,), T.int32)
            total = T.alloc_var(T.int32, init=5)
            T.copy(A, s)
            steps[0] = 1
            doubled(s, f)
            counted(steps, total)
            counted(steps, total)
            T.copy(f, B)
            C[0] = total
        return B, C

    a = rng.integers(-9, 9, (ROWS, COLUMNS)).astype(np.float32)
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, 2 * a.sum(1))
    assert c[0] == 5 + 3 + 5


class Scaled:
    """A helper whose method is part of the trace."""

    def __init__(self, factor):
        self.factor = factor

    @T.inline
    def times(self, tile):
        for i, j in T.Parallel(ROWS, COLUMNS):
            if tile[i, j] > 0:
                tile[i, j] = tile[i, j] * self.factor


def test_methods_that_are_inlined(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), T.float32)):
        B = T.empty((ROWS, COLUMNS), T.float32)
        with T.Kernel(1, threads=64):
            f = T.alloc_fragment((ROWS, COLUMNS), T.float32)
            T.copy(A, f)
            Scaled(3.0).times(f)
            T.copy(f, B)
        return B

    a = rng.integers(-9, 9, (ROWS, COLUMNS)).astype(np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.where(a > 0, 3 * a, a))


@pytest.mark.parametrize("product", ["wgmma_gemm", "wgmma_mma"])
def test_products_that_are_waited_for(run, rng, product):
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float16), B: T.Tensor((32, 64), T.float16)):
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), T.float16)
            b = T.alloc_shared((32, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            getattr(T, product)(a, b, c)
            T.wait_wgmma(0)
            T.copy(c, C)
        return C

    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((64, 32), (32, 64)))
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def loaded_and_waited(A, s, barrier):
    T.tma_copy(A[0:ROWS, 0:COLUMNS], s, barrier=barrier)
    T.ptx_arrive_barrier(barrier)
    T.ptx_wait_barrier(barrier, 0)


def loaded_in_groups(A, s, barrier):
    T.async_copy(A[0:ROWS, 0:COLUMNS], s)
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    T.sync_threads()


@pytest.mark.parametrize("load", [loaded_and_waited, loaded_in_groups])
def test_copies_under_way(run, rng, load):
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), T.float32)):
        B = T.empty((ROWS, COLUMNS), T.float32)
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((ROWS, COLUMNS), T.float32)
            f = T.alloc_fragment((ROWS, COLUMNS), T.float32)
            barrier = T.create_barriers(128)
            load(A, s, barrier)
            T.copy(s, f)
            for i, j in T.Parallel(ROWS, COLUMNS):
                s[i, j] = f[i, j] + 1.0
            T.fence_proxy_async()
            T.tma_copy(s, B[0:ROWS, 0:COLUMNS])
            T.tma_store_arrive()
            T.tma_store_wait(0)
        return B

    a = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a + np.float32(1))


HINTS = {
    "disable_warp_group_reg_alloc": lambda: T.disable_warp_group_reg_alloc(),
    "no_set_max_nreg": lambda: T.no_set_max_nreg(),
    "annotate_producer_reg_dealloc": lambda: T.annotate_producer_reg_dealloc(24),
    "annotate_consumer_reg_alloc": lambda: T.annotate_consumer_reg_alloc(240),
}


@pytest.mark.parametrize("hint", HINTS)
def test_hints_about_registers_change_nothing(run, rng, hint):
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), T.float16), B: T.Tensor((64, 64), T.float16)):
        C = T.empty((64, 64), T.float32)
        with T.Kernel(1, threads=128):
            HINTS[hint]()
            a = T.alloc_shared((64, 32), T.float16)
            b = T.alloc_shared((32, 64), T.float16)
            c = T.alloc_fragment((64, 64), T.float32)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)
        return C

    a, b = (rng.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_spellings_are_the_same_objects():
    assert T.wgmma_mma is T.wgmma_gemm
    assert T.c2d_im2col is T.im2col
    assert isinstance(of_each(lambda x: x), T.PrimFunc)
    assert isinstance(doubled, T.Macro)
    assert T.is_float4(T.float4_e2m1fn)
    assert not T.is_float4(T.float16)
    assert T.is_float4_e2m1fn("float4_e2m1fn")
    assert T.is_float4_e2m1_unpacked(T.float4_e2m1_unpacked)
    assert not T.is_float4_e2m1_unpacked(T.float4_e2m1fn)


def test_threads_by_older_names(run, rng):
    """Numbers of warps, a barrier and an exchange within half a warp."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), T.float32)):
        B, C = T.empty((2, 256), T.int32), T.empty((2, 256), T.float32)
        with T.Kernel(1, threads=256):
            t = T.get_thread_binding()
            s = T.alloc_shared((256,), T.float32)
            s[t] = A[t]
            T.tvm_storage_sync("shared")
            B[0, t] = T.get_warp_idx_sync(32)
            B[1, t] = T.get_warp_group_idx(32, 4)
            C[0, t] = T.tvm_warp_shuffle(-1, s[255 - t], 3, 16, 32)
            T.sync_warp()
            C[1, t] = s[(t // 32) * 32 + (t + 1) % 32]
        return B, C

    a = rng.integers(-99, 100, 256).astype(np.float32)
    b, c = run(kernel, a)
    t = np.arange(256)
    np.testing.assert_array_equal(b, [t // 32, t // 128])
    np.testing.assert_array_equal(c[0], a[::-1][t // 16 * 16 + 3])
    np.testing.assert_array_equal(c[1], a[t // 32 * 32 + (t + 1) % 32])
