"""Write kernels in tiles, run them on this CPU, check them against numpy in float64, and time them.

Needs numpy only; torch is timed beside ours where it is installed. Prints one table.
"""

import math
import time
from importlib.util import find_spec

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_relu(A, B, dtype, block_M=128, block_N=256, block_K=256):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        for i, j in T.Parallel(block_M, block_N):
            C_l[i, j] = T.max(C_l[i, j], 0)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def softmax(X, rows=4):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        x = T.alloc_fragment((rows, N), T.float32)
        top = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.copy(X[block * rows, 0], x)
        T.reduce_max(x, top, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = T.exp(x[i, j] - top[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(rows, N):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[block * rows, 0])
    return Y


@tile.jit
def rms_norm(X, W, eps=1e-6):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    W: T.Tensor((N,), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((1, N), T.float32)
        square = T.alloc_fragment((1, N), T.float32)
        scale = T.alloc_fragment((1,), T.float32)
        T.copy(X[row, 0], x)
        for i, j in T.Parallel(1, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, scale, dim=1)
        for i in T.Parallel(1):
            scale[i] = T.rsqrt(scale[i] / N + eps)
        for i, j in T.Parallel(1, N):
            Y[row, j] = x[i, j] * scale[i] * W[j]
    return Y


@tile.jit
def attention(Q, K, V, block_M=64, block_N=64):
    """Causal flash attention: one pass over the keys with a running maximum and a running sum."""
    batch, heads, length, dim = T.const("batch, heads, length, dim")
    Q: T.Tensor((batch, heads, length, dim), T.float32)
    K: T.Tensor((batch, heads, length, dim), T.float32)
    V: T.Tensor((batch, heads, length, dim), T.float32)
    O = T.empty((batch, heads, length, dim), T.float32)
    scale = 1 / math.sqrt(dim) * math.log2(math.e)
    with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=128) as (bm, h, b):
        Q_s = T.alloc_shared((block_M, dim), T.float32)
        K_s = T.alloc_shared((block_N, dim), T.float32)
        V_s = T.alloc_shared((block_N, dim), T.float32)
        scores = T.alloc_fragment((block_M, block_N), T.float32)
        acc = T.alloc_fragment((block_M, dim), T.float32)
        top = T.alloc_fragment((block_M,), T.float32)
        top_before = T.alloc_fragment((block_M,), T.float32)
        rescale = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(Q[b, h, bm * block_M : (bm + 1) * block_M, :], Q_s)
        T.clear(acc)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        for j in T.Pipelined(T.ceildiv((bm + 1) * block_M, block_N), num_stages=2):
            T.copy(K[b, h, j * block_N : (j + 1) * block_N, :], K_s)
            T.gemm(Q_s, K_s, scores, transpose_B=True, clear_accum=True)
            for r, c in T.Parallel(block_M, block_N):
                visible = bm * block_M + r >= j * block_N + c
                scores[r, c] = T.if_then_else(visible, scores[r, c] * scale, -T.infinity(T.float32))
            T.copy(top, top_before)
            T.reduce_max(scores, top, dim=1, clear=False)
            for r in T.Parallel(block_M):
                rescale[r] = T.exp2(top_before[r] - top[r])
            for r, c in T.Parallel(block_M, block_N):
                scores[r, c] = T.exp2(scores[r, c] - top[r])
            T.reduce_sum(scores, row_sum, dim=1)
            for r in T.Parallel(block_M):
                total[r] = total[r] * rescale[r] + row_sum[r]
            for r, d in T.Parallel(block_M, dim):
                acc[r, d] *= rescale[r]
            T.copy(V[b, h, j * block_N : (j + 1) * block_N, :], V_s)
            T.gemm(scores, V_s, acc)
        for r, d in T.Parallel(block_M, dim):
            acc[r, d] /= total[r]
        T.copy(acc, O[b, h, bm * block_M : (bm + 1) * block_M, :])
    return O


def softmax_reference(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_reference(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    return softmax_reference(scores) @ v


def torch_rivals():
    """The same work in torch, by the names of the cases; empty where torch is not installed."""
    if find_spec("torch") is None:
        return {}
    import torch
    from torch.nn import functional as F

    attend = F.scaled_dot_product_attention
    return {
        "GEMM + ReLU": lambda a, b: torch.relu(a @ b),
        "softmax": lambda x: torch.softmax(x, -1),
        "RMSNorm": lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-6),
        "causal attention": lambda q, k, v: attend(q, k, v, is_causal=True),
    }


def cases():
    """Give name, shape, kernel, inputs, reference in float64, what numpy runs, and tolerance."""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    def product_in(dtype):
        return lambda a, b: matmul_relu(a, b, dtype)

    def relu_of_product(a, b):
        return np.maximum(a @ b, 0)

    def normed(x, w):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * w

    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-3)):
        ab = normal(1024, 1024).astype(dtype), normal(1024, 1024).astype(dtype)
        name = f"1024^3 {np.dtype(dtype).name}"
        yield "GEMM + ReLU", name, product_in(T.dtype(dtype)), ab, relu_of_product, tolerance
    rows = normal(4096, 1024)
    yield "softmax", "4096x1024 float32", softmax, (rows,), softmax_reference, 1e-5
    yield "RMSNorm", "4096x1024 float32", rms_norm, (rows, normal(1024)), normed, 1e-5
    qkv = tuple(normal(2, 8, 1024, 64) for _ in range(3))
    yield "causal attention", "2x8x1024x64 float32", attention, qkv, attention_reference, 1e-5


def milliseconds(fn, *args):
    """Return the time of the fastest of several calls within half a second."""
    fn(*args)
    best, end = math.inf, time.perf_counter() + 0.5
    while time.perf_counter() < end:
        start = time.perf_counter()
        fn(*args)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def torch_milliseconds(fn, args):
    """Return the time of `fn` on the same data in torch tensors, as text."""
    if fn is None:
        return "-"
    import torch

    return f"{milliseconds(fn, *map(torch.from_numpy, args)):.2f}"


def main():
    rivals = torch_rivals()
    columns = ("kernel", "shape", "max error", "first call", "ours ms", "numpy ms", "torch ms")
    line = "{:<17} {:<20} {:>9} {:>11} {:>9} {:>9} {:>9}".format
    print(line(*columns))
    for name, shape, kernel, args, reference, tolerance in cases():
        start = time.perf_counter()
        result = kernel(*args)
        first = time.perf_counter() - start
        expected = reference(*(a.astype(np.float64) for a in args))
        error = np.abs(result - expected).max() / np.abs(expected).max()
        assert error <= tolerance, f"{name}: error {error:.2e} is above {tolerance:.0e}"
        # On a CPU numpy and torch multiply float16 element by element: seconds that tell nothing.
        slow = args[0].dtype == np.float16
        numpy_ms = "-" if slow else f"{milliseconds(reference, *args):.2f}"
        ours = f"{milliseconds(kernel, *args):.2f}"
        theirs = "-" if slow else torch_milliseconds(rivals.get(name), args)
        print(line(name, shape, f"{error:.1e}", f"{first:.2f} s", ours, numpy_ms, theirs))
    source = attention.compile(batch=2, heads=8, length=1024, dim=64).source_path
    print(f"\nthe C source of the last kernel: {source}")


if __name__ == "__main__":
    main()
