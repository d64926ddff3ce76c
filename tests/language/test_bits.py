"""Bits of integers and products of packed bytes."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError

N = T.dynamic("N")
ffs, fns = getattr(T, "__ffs"), getattr(T, "__fns")


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_first_bit_set(run, rng, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype)):
        B = T.empty((N,), T.int32)
        with T.Kernel(N, threads=32) as i:
            B[i] = ffs(A[i])
        return B

    bits = np.dtype(dtype).itemsize * 8
    powers = [1 << n for n in range(bits - 1)]
    a = np.array([0, 1, 6, *powers, *(p * 3 & 2**31 - 1 for p in powers)]).astype(dtype)
    a[-1] = np.iinfo(dtype).min if dtype != "uint32" else 1 << 31
    (b,) = run(kernel, a)
    want = [(int(x) & -int(x)).bit_length() for x in a]
    np.testing.assert_array_equal(b, want)


def nth(mask, base, offset):
    """The n-th bit by walking, as the definition says."""
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    step = 1 if offset > 0 else -1
    left, at = abs(offset), base
    while 0 <= at < 32:
        left -= mask >> at & 1
        if left == 0:
            return at
        at += step
    return 0xFFFFFFFF


def test_nth_bit_set(run, rng):
    @T.prim_func
    def kernel(M: T.Tensor((N,), T.uint32), B: T.Tensor((N,), T.int32), K: T.Tensor((N,), T.int32)):
        R = T.empty((N,), T.uint32)
        with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
            for i in T.Parallel(64):
                R[bx * 64 + i] = fns(M[bx * 64 + i], B[bx * 64 + i], K[bx * 64 + i])
        return R

    size = 1000
    masks = rng.integers(0, 2**32, size, dtype=np.uint32)
    masks[:100] &= rng.integers(0, 2**32, 100, dtype=np.uint32)
    masks[100:110] = [0, 1, 2**31, 2**32 - 1, 0, 1, 2**31, 2**32 - 1, 2**32 - 1, 2**32 - 1]
    bases = rng.integers(0, 32, size).astype(np.int32)
    offsets = rng.integers(-12, 13, size).astype(np.int32)
    bases[108:110], offsets[108:110] = [0, 31], [32, -32]
    (r,) = run(kernel, masks, bases, offsets)
    want = [nth(int(m), int(b), int(k)) for m, b, k in zip(masks, bases, offsets, strict=True)]
    np.testing.assert_array_equal(r, np.array(want, np.uint32))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_of_packed_bytes(run, rng, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((8, 32), dtype), B: T.Tensor((32,), dtype)):
        C = T.empty((8,), T.int32)
        with T.Kernel(8, threads=32) as row:
            total = T.alloc_var(T.int32, init=5)
            part = T.alloc_local((1,), T.int32)
            part[0] = 0
            for k in T.serial(8):
                T.dp4a(A[row, k * 4], B[k * 4], total)
                T.dp4a(T.address_of(A[row, k * 4]), B[k * 4], part)
            C[row] = total + part[0]
        return C

    info = np.iinfo(dtype)
    a, b = (rng.integers(info.min, info.max + 1, s).astype(dtype) for s in ((8, 32), 32))
    (c,) = run(kernel, a, b)
    np.testing.assert_array_equal(c, 5 + 2 * (a.astype(np.int64) @ b.astype(np.int64)))


@pytest.mark.parametrize(("code", "dtype"), [("E1403", "float32"), ("E1403", "int16")])
def test_other_bytes_are_refused(code, dtype):
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), dtype)):
            with T.Kernel(1):
                T.dp4a(A[0], A[4], T.alloc_var(T.int32))

    assert raised.value.code == code


def test_bits_of_floats_are_refused():
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(1):
                A[0] = ffs(A[1])

    assert raised.value.code == "E0246"


def test_calls_that_leave_loops(run):
    """`T.loop_break` and its like are `break` and `continue`."""

    @T.prim_func
    def kernel(A: T.Tensor((16,), T.int32)):
        B = T.empty((16,), T.int32)
        with T.Kernel(1, threads=32):
            T.fill(B, 0)
            for i in T.serial(16):
                if A[i] < 0:
                    T.continue_loop()
                if A[i] > 9:
                    T.loop_break()
                B[i] = A[i]
        return B

    a = np.array([3, -1, 4, 1, 5, -9, 2, 6, 5, 35, 8, 9, 7, 9, 3, 2], np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.where((np.arange(16) < 9) & (a >= 0), a, 0))


@pytest.mark.parametrize("where", ["none", "parallel", "python"])
def test_loops_that_cannot_be_left(where):
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(1):
                if where == "none":
                    T.loop_break()
                if where == "parallel":
                    for _ in T.Parallel(8):
                        T.break_loop()
                if where == "python":
                    for _ in range(2):
                        T.continue_loop()

    assert raised.value.code == "E1009"
