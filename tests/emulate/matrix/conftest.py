"""One source for every target: the programs, and the machines that they are compiled for."""

from functools import cache

import numpy as np
import pytest

import tile_frontend.language as T
from tile_cpu.compilers import zig_path
from tile_cuda.nvrtc import find_nvrtc
from tile_ir.interp import run

TARGETS = {
    "sm_80": "cuda -arch=sm_80",
    "sm_90a": "cuda -arch=sm_90a",
    "gfx942": "rocm -arch=gfx942",
    "gfx950": "rocm -arch=gfx950",
    "gfx1100": "rocm -arch=gfx1100",
    "apple7": "metal -arch=apple7",
    "cpu": "cpu",
}


def needs(target):
    """Skip where the compiler that makes or runs the target's code is not installed."""
    if target.startswith("cuda") and find_nvrtc() is None:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    if target.startswith(("rocm", "metal")) and zig_path() is None:
        pytest.skip("ziglang is not installed")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Of what is built: the emulators themselves are, once each."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=list(TARGETS))
def target(request, folder, monkeypatch):
    """The words for one target."""
    needs(TARGETS[request.param])
    monkeypatch.setenv("TILE_CACHE_DIR", str(folder))
    return TARGETS[request.param]


def gemm(kind, sums, result, turn_a=False, turn_b=False, m=100, n=144, k=80):
    """Ragged in every axis; rows are multiples of 16 bytes, which copy engines ask for."""

    @T.prim_func
    def gemm(
        A: T.Tensor((k, m) if turn_a else (m, k), kind),
        B: T.Tensor((n, k) if turn_b else (k, n), kind),
        C: T.Tensor((m, n), result),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            A_s = T.alloc_shared((32, 64) if turn_a else (64, 32), kind)
            B_s = T.alloc_shared((64, 32) if turn_b else (32, 64), kind)
            C_l = T.alloc_fragment((64, 64), sums)
            T.clear(C_l)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                if turn_a:
                    T.copy(A[step * 32, by * 64], A_s)
                else:
                    T.copy(A[by * 64, step * 32], A_s)
                if turn_b:
                    T.copy(B[bx * 64, step * 32], B_s)
                else:
                    T.copy(B[step * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l, transpose_A=turn_a, transpose_B=turn_b)
            T.copy(C_l, C[by * 64, bx * 64])

    return gemm


def attention(causal, kind="float16", heads=2, dim=64, rows=(80, 96)):
    """Of each sequence only its first `lengths` rows count; what is behind them stays zero."""
    batch, top_row = len(rows), 96
    scale = dim**-0.5 * 1.44269504

    @T.prim_func
    def attention(
        Q: T.Tensor((batch, heads, top_row, dim), kind),
        K: T.Tensor((batch, heads, top_row, dim), kind),
        V: T.Tensor((batch, heads, top_row, dim), kind),
        lengths: T.Tensor((batch,), "int32"),
        O: T.Tensor((batch, heads, top_row, dim), kind),
    ):
        with T.Kernel(T.ceildiv(top_row, 64), heads, batch, threads=128) as (bm, h, z):
            Q_s = T.alloc_shared((64, dim), kind)
            K_s = T.alloc_shared((32, dim), kind)
            V_s = T.alloc_shared((32, dim), kind)
            score = T.alloc_fragment((64, 32), "float32")
            weight = T.alloc_fragment((64, 32), kind)
            out = T.alloc_fragment((64, dim), "float32")
            top = T.alloc_fragment((64,), "float32")
            old = T.alloc_fragment((64,), "float32")
            part = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(Q[z, h, bm * 64, 0], Q_s)
            T.clear(out)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            end = T.min(lengths[z], (bm + 1) * 64) if causal else lengths[z]
            for j in T.Pipelined(T.ceildiv(end, 32), num_stages=2):
                T.copy(K[z, h, j * 32, 0], K_s)
                T.clear(score)
                T.gemm(Q_s, K_s, score, transpose_B=True)
                for r, c in T.Parallel(64, 32):
                    column = j * 32 + c
                    last = T.min(lengths[z], bm * 64 + r + 1) if causal else lengths[z]
                    score[r, c] = T.if_then_else(
                        column < last, score[r, c] * scale, -T.infinity("float32")
                    )
                T.copy(top, old)
                T.reduce_max(score, top, dim=1, clear=False)
                for r, c in T.Parallel(64, 32):
                    score[r, c] = T.exp2(score[r, c] - top[r])
                T.reduce_sum(score, part, dim=1)
                for r in T.Parallel(64):
                    total[r] = total[r] * T.exp2(old[r] - top[r]) + part[r]
                T.copy(score, weight)
                for r, d in T.Parallel(64, dim):
                    out[r, d] = out[r, d] * T.exp2(old[r] - top[r])
                T.copy(V[z, h, j * 32, 0], V_s)
                T.gemm(weight, V_s, out)
            for r, d in T.Parallel(64, dim):
                inside = bm * 64 + r < lengths[z]
                out[r, d] = T.if_then_else(inside, out[r, d] / total[r], 0.0)
            T.copy(out, O[z, h, bm * 64, 0])

    return attention


def rms_norm(m=5, n=200):
    @T.prim_func
    def rms_norm(
        X: T.Tensor((m, n), "float16"), W: T.Tensor((n,), "float32"), Y: T.Tensor((m, n), "float16")
    ):
        with T.Kernel(m, threads=128) as row:
            x = T.alloc_fragment((1, n), "float32")
            square = T.alloc_fragment((1, n), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[row, 0], x)
            for i, j in T.Parallel(1, n):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(1):
                total[i] = T.rsqrt(total[i] / n + 1e-6)
            for i, j in T.Parallel(1, n):
                Y[row, j] = x[i, j] * total[i] * W[j]

    return rms_norm


def softmax(m=9, n=129):
    @T.prim_func
    def softmax(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(m, 4), threads=128) as block:
            x = T.alloc_fragment((4, n), "float32")
            top = T.alloc_fragment((4,), "float32")
            total = T.alloc_fragment((4,), "float32")
            T.copy(X[block * 4, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(4, n):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(4, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[block * 4, 0])

    return softmax


def split_k(m=72, n=80, k=256, parts=3):
    """Blocks add their part of the depth to one result."""

    @T.prim_func
    def split_k(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), parts, threads=128) as (bx, by, bz):
            A_s = T.alloc_shared((64, 32), "float16")
            B_s = T.alloc_shared((32, 64), "float16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            steps = T.ceildiv(k, 32)
            for step in T.Pipelined(T.ceildiv(steps - bz, parts), num_stages=2):
                T.copy(A[by * 64, (step * parts + bz) * 32], A_s)
                T.copy(B[(step * parts + bz) * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l)
            for i, j in T.Parallel(64, 64):
                if by * 64 + i < m and bx * 64 + j < n:
                    T.atomic_add(C[by * 64 + i, bx * 64 + j], C_l[i, j])

    return split_k


def dequantized(m=64, n=96, k=128, group=32):
    """Weights of 4 bits, two to a byte, with a scale for each group along the depth."""

    @T.prim_func
    def dequantized(
        A: T.Tensor((m, k), "float16"),
        W: T.Tensor((n, k // 2), "uint8"),
        S: T.Tensor((n, k // group), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 64), threads=128) as (bx, by):
            A_s = T.alloc_shared((64, 32), "float16")
            W_s = T.alloc_shared((32, 32), "float16")
            C_l = T.alloc_fragment((64, 32), "float32")
            T.clear(C_l)
            for step in T.Pipelined(k // 32, num_stages=2):
                T.copy(A[by * 64, step * 32], A_s)
                for i, j in T.Parallel(32, 32):
                    pair = T.cast(W[bx * 32 + i, step * 16 + j // 2], "int32")
                    code = T.bitwise_and(T.shift_right(pair, (j % 2) * 4), 15) - 8
                    scale = S[bx * 32 + i, step * 32 // group]
                    W_s[i, j] = T.cast(code, "float16") * scale
                T.gemm(A_s, W_s, C_l, transpose_B=True)
            T.copy(C_l, C[by * 64, bx * 32])

    return dequantized


def stencil(m=37, n=53):
    """Five points, through shared memory with a border."""

    @T.prim_func
    def stencil(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 16), threads=128) as (bx, by):
            S = T.alloc_shared((18, 34), "float32")
            for i, j in T.Parallel(18, 34):
                row, column = by * 16 + i - 1, bx * 32 + j - 1
                inside = row >= 0 and row < m and column >= 0 and column < n
                S[i, j] = T.if_then_else(inside, X[row, column], 0.0)
            for i, j in T.Parallel(16, 32):
                if by * 16 + i < m and bx * 32 + j < n:
                    Y[by * 16 + i, bx * 32 + j] = 0.5 * S[i + 1, j + 1] + 0.125 * (
                        S[i, j + 1] + S[i + 2, j + 1] + S[i + 1, j] + S[i + 1, j + 2]
                    )

    return stencil


def kept_axis(m=16, n=33):
    """Rows to one column, and that to one number, in fragments whose reduced axis stays."""

    @T.prim_func
    def kept_axis(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m + 1, 1), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((m, n), "float32")
            rows = T.alloc_fragment((m, 1), "float32")
            one = T.alloc_fragment((1, 1), "float32")
            T.copy(X, x)
            T.reduce_sum(x, rows, dim=1)
            T.copy(rows, Y[0:m, :])
            T.reduce_max(rows, one, dim=0)
            T.copy(one, Y[m : m + 1, :])

    return kept_axis


def views(m=6, n=8):
    """The same memory of arguments under other shapes."""

    @T.prim_func
    def views(A: T.Tensor((m, n), "float32"), B: T.Tensor((n, m), "float32")):
        with T.Kernel(1, threads=32):
            rows = T.reshape(A, (3, m * n // 3))
            out = T.reshape(B, (m * n,))
            for i, j in T.Parallel(3, m * n // 3):
                out[i * (m * n // 3) + j] = rows[2 - i, j]

    return views


HALF = ("float16", "float32", "float32")
PROGRAMS = {
    "gemm_f16_nn": (lambda: gemm(*HALF), 1e-3),
    "gemm_f16_nt": (lambda: gemm(*HALF, turn_b=True), 1e-3),
    "gemm_f16_tn": (lambda: gemm(*HALF, turn_a=True), 1e-3),
    "gemm_bf16_nt": (lambda: gemm("bfloat16", "float32", "bfloat16", turn_b=True), 1e-2),
    "gemm_i8_nt": (lambda: gemm("int8", "int32", "int32", turn_b=True), 0.0),
    "gemm_f8_nt": (lambda: gemm("float8_e4m3fn", "float32", "float32", turn_b=True), 1e-3),
    "gemm_f8fnuz_nt": (lambda: gemm("float8_e4m3fnuz", "float32", "float32", turn_b=True), 1e-3),
    "attention": (lambda: attention(causal=False), 4e-3),
    "attention_causal": (lambda: attention(causal=True), 4e-3),
    "rms_norm": (rms_norm, 2e-3),
    "softmax": (softmax, 1e-5),
    "split_k": (split_k, 1e-3),
    "dequantized": (dequantized, 1e-3),
    "stencil": (stencil, 1e-6),
    "kept_axis": (kept_axis, 1e-5),
    "views": (views, 0.0),
}
"""Name -> the program, and the largest error relative to the largest result."""


@cache
def program(name):
    """A program and its tolerance."""
    make, tolerance = PROGRAMS[name]
    return make(), tolerance


@pytest.fixture(params=list(PROGRAMS))
def source(request):
    """Name, program, tolerance."""
    return request.param, *program(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def oracle():
    """What a program gives by the interpreter, once for all targets."""
    known = {}

    def ask(name, function, args):
        if name not in known:
            names = [p.buffer.name for p in function.params]
            given = {n: a.copy() for n, a in zip(names, args, strict=True)}
            known[name] = run(function, given)[names[-1]]
        return known[name]

    return ask
