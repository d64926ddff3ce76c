"""Parts of the language that are made of plainer ones: on every device what the oracle says."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir import interp

TARGETS = ("cuda -arch=sm_80", "cuda -arch=sm_90a", "rocm -arch=gfx942", "metal -arch=apple7")


@T.prim_func
def scheduled(M: T.Tensor((5, 7), T.int32)):
    with T.Kernel(3, threads=32) as w:
        tiles = T.PersistentTileScheduler(5, 7, swizzle_size=2)
        tiles.init(w)
        while tiles.valid():
            M[tiles.m_idx, tiles.n_idx] = tiles.linear_idx
            tiles.next_tile()


@T.prim_func
def reduced(
    A: T.Tensor((16, 72), T.float32),
    rows: T.Tensor((16,), T.float32),
    top: T.Tensor((1,), T.float32),
    bins: T.Tensor((10,), T.float32),
):
    with T.Kernel(1, threads=64):
        x = T.alloc_fragment((16, 24), T.float32)
        row = T.alloc_reducer((16,), T.float32)
        best = T.alloc_reducer((1,), T.float32, op="max")
        count = T.alloc_reducer((10,), T.float32)
        T.reducer_init(row)
        T.reducer_init(best)
        T.reducer_init(count)
        for k in T.serial(3):
            T.copy(A[0, k * 24], x)
            for i, j in T.Parallel(16, 24):
                T.reducer_update(row[i], x[i, j])
                T.reducer_update(best[0], x[i, j])
                T.reducer_update(count[(i + j) % 10], x[i, j])
        T.finalize_reducer(row, rows)
        T.finalize_reducer(best, top)
        T.finalize_reducer(count, bins)


@T.prim_func
def multiplied(
    A: T.Tensor((64, 96), T.float16),
    x: T.Tensor((96,), T.float16),
    y: T.Tensor((64,), T.float32),
    top: T.Tensor((64,), T.float32),
):
    with T.Kernel(2, threads=128) as bx:
        a = T.alloc_shared((32, 32), T.float16)
        v = T.alloc_shared((32,), T.float16)
        most = T.alloc_fragment((32,), T.float32)
        best = T.alloc_fragment((32,), T.float32)
        acc = T.alloc_reducer((32,), T.float32)
        T.fill(best, -T.infinity(T.float32))
        T.reducer_init(acc)
        for k in T.Pipelined(3, num_stages=2):
            T.copy(A[bx * 32, k * 32], a)
            T.copy(x[k * 32], v)
            row = T.alloc_reducer((32,), T.float32, op="max")
            T.reducer_init(row)
            for i, j in T.Parallel(32, 32):
                T.reducer_update(acc[i], T.cast(a[i, j], T.float32) * v[j])
                T.reducer_update(row[i], a[i, j])
            T.finalize_reducer(row, most)
            for i in T.Parallel(32):
                best[i] = T.max(best[i], most[i])
        T.finalize_reducer(acc, y[bx * 32 : bx * 32 + 32])
        T.copy(best, top[bx * 32])


@T.prim_func
def drawn(W: T.Tensor((2, 3, 24), T.uint32), U: T.Tensor((2, 64), T.float32)):
    with T.Kernel(2, threads=32) as bx:
        T.rng_init(2**40 + 9)
        for k in T.serial(3):
            for i in T.Parallel(24):
                W[bx, k, i] = T.rng_rand()
        for i in T.Parallel(64):
            U[bx, i] = T.rng_rand_float()


@T.prim_func
def convolved(
    A: T.Tensor((2, 8, 7, 6), T.float16),
    B: T.Tensor((54, 32), T.float16),
    C: T.Tensor((32, 32), T.float32),
):
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((32, 16), T.float16)
        b = T.alloc_shared((16, 32), T.float16)
        acc = T.alloc_fragment((32, 32), T.float32)
        T.clear(acc)
        for k in T.Pipelined(4, num_stages=2):
            T.im2col(A, a, bx, k, 3, 2, 1, 1)
            T.copy(B[k * 16, 0], b)
            T.gemm(a, b, acc)
        T.copy(acc, C)


@T.prim_func
def sparse(
    A: T.Tensor((32, 32), T.float16),
    E: T.Tensor((32, 4), T.int16),
    B: T.Tensor((64, 32), T.float16),
    C: T.Tensor((32, 32), T.float32),
):
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((32, 16), T.float16)
        e = T.alloc_shared((32, 2), T.int16)
        b = T.alloc_shared((32, 32), T.float16)
        acc = T.alloc_fragment((32, 32), T.float32)
        T.clear(acc)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[0, k * 16], a)
            T.copy(E[0, k * 2], e)
            T.copy(B[k * 32, 0], b)
            T.gemm_sp(a, e, b, acc)
        T.copy(acc, C)


@T.prim_func
def lanes(A: T.Tensor((64,), T.float16), B: T.Tensor((5, 64), T.float16)):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(16):
            four = A[T.Ramp(i * 4, 1, 4)]
            two, other = A[T.Ramp(i * 4, 1, 2)], A[T.Ramp(i * 4 + 2, 1, 2)]
            B[0, i] = T.extract_lane(four, 2)
            B[0, i + 16] = T.extract_lane(four, i % 4)
            B[1, T.Ramp(i * 4, 1, 4)] = T.Shuffle([two, other], [3, 0, 2, 0])
            B[2, T.Ramp(i * 2, 1, 2)] = T.add2(two, other)
            B[3, T.Ramp(i * 2, 1, 2)] = T.fma2(two, other, T.abs2(two))
            B[4, T.Ramp(i * 2, 1, 2)] = T.max2(two, T.mul2(other, other))


@T.prim_func
def words(
    A: T.Tensor((128,), T.float16),
    B: T.Tensor((128,), T.float16),
    C: T.Tensor((64,), T.float32),
    D: T.Tensor((64,), T.float32),
):
    with T.Kernel(1, threads=32):
        s = T.alloc_shared((128,), T.float16)
        for i in T.Parallel(16):
            T.sts128(s[i * 8], T.ldg128(A[i * 8], pred=i < 14))
        for i in T.Parallel(16):
            T.stg128(B[i * 8], T.lds128(s[120 - i * 8]), i != 3)
        for i in T.Parallel(32):
            T.atomic_addx2(D[i * 2 % 8], C[i * 2])


@T.prim_func
def bits(A: T.Tensor((64,), T.int32), B: T.Tensor((3, 64), T.int32), C: T.Tensor((64, 4), T.int8)):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            B[0, i] = T.__ffs(A[i])
            B[1, i] = T.cast(T.__fns(A[i], i % 32, i % 7 - 3), T.int32)
            B[2, i] = i
            T.dp4a(C[i, 0], C[63 - i, 0], B[2, i])


@T.prim_func
def rounded(A: T.Tensor((2, 64), T.float32), B: T.Tensor((8, 64), T.float32)):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            B[0, i] = T.ieee_add(A[0, i], A[1, i], "ru")
            B[1, i] = T.ieee_sub(A[0, i], A[1, i], "rd")
            B[2, i] = T.ieee_mul(A[0, i], A[1, i], "rz")
            B[3, i] = T.ieee_fdiv(A[0, i], A[1, i], "ru")
            B[4, i] = T.ieee_fmaf(A[0, i], A[1, i], A[0, i], "rd")
            B[5, i] = T.ieee_frcp(A[1, i], "rz")
            B[6, i] = T.ieee_fsqrt(T.abs(A[0, i]), "ru")
            B[7, i] = T.ieee_frsqrt(T.abs(A[1, i]))


KERNELS = (scheduled, reduced, multiplied, drawn, convolved, sparse, lanes, words, bits, rounded)


def arguments(program):
    """Small whole numbers of either sign, whose sums and products every type holds exactly."""
    rng = np.random.default_rng(7)
    made = {}
    for param in program.function.params:
        buffer = param.buffer
        shape = tuple(int(e.value) for e in buffer.shape)
        dtype = np.dtype(T.dtype(buffer.dtype).name)
        if dtype == np.int16:
            codes = rng.choice([4, 8, 12, 9, 13, 14], (*shape, 4)) << 4 * np.arange(4)
            made[buffer.name] = codes.sum(-1).astype(np.uint16).view(np.int16)
        elif dtype == np.uint32:
            made[buffer.name] = np.zeros(shape, dtype)
        else:
            made[buffer.name] = rng.integers(-9, 10, shape).astype(dtype)
    if program is rounded:
        made["A"] = rng.standard_normal((2, 64)).astype(np.float32)
    return made


@pytest.fixture(autouse=True)
def own_cache(nvrtc, zig, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", KERNELS, ids=lambda p: p.name)
def test_every_device_agrees_with_the_oracle(program, target):
    if program is rounded and target.startswith("metal"):
        pytest.skip("directed rounding compares in float64, which Metal lacks")
    given = arguments(program)
    want = interp.run(program.function, {n: a.copy() for n, a in given.items()})
    got = {n: a.copy() for n, a in given.items()}
    tile.compile(program, target=target, device="emulator")(*got.values())
    assert any((want[n] != given[n]).any() for n in want)
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array, err_msg=name)
