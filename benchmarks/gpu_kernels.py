"""The tile programs that the GPU benchmarks run: plain loops over tiles, no intrinsics."""

from __future__ import annotations

from functools import cache
from typing import Any

import tile_frontend as tile
import tile_frontend.language as T


@cache
def kernel(name: str, plan: tuple[tuple[str, Any], ...] = ()) -> Any:
    """One of the programs below for the GPU, with the decisions of `plan` pinned."""
    return tile.jit(target="cuda", plan=dict(plan))(globals()[name])


def matmul(
    A, B, dtype, transposed=False, block_M=128, block_N=256, block_K=64, stages=4, threads=256
):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K) if transposed else (K, N), dtype)
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        B_s = T.alloc_shared((block_N, block_K) if transposed else (block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            if transposed:
                T.copy(B[bx * block_N, k * block_K], B_s)
            else:
                T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l, transpose_B=transposed)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


def attention(Q, K, V, dtype, causal=True, block_M=128, block_N=128, stages=2, threads=256):
    B, H, S, D = T.const("B, H, S, D")
    Q: T.Tensor((B, H, S, D), dtype)
    K: T.Tensor((B, H, S, D), dtype)
    V: T.Tensor((B, H, S, D), dtype)
    O = T.empty((B, H, S, D), dtype)
    scale = (1.0 / D) ** 0.5 * 1.44269504
    with T.Kernel(T.ceildiv(S, block_M), H, B, threads=threads) as (bm, h, z):
        Q_s = T.alloc_shared((block_M, D), dtype)
        K_s = T.alloc_shared((block_N, D), dtype)
        V_s = T.alloc_shared((block_N, D), dtype)
        score = T.alloc_fragment((block_M, block_N), T.float32)
        weight = T.alloc_fragment((block_M, block_N), dtype)
        out = T.alloc_fragment((block_M, D), T.float32)
        top = T.alloc_fragment((block_M,), T.float32)
        old = T.alloc_fragment((block_M,), T.float32)
        alpha = T.alloc_fragment((block_M,), T.float32)
        row = T.alloc_fragment((block_M,), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(Q[z, h, bm * block_M, 0], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        end = T.min(S, (bm + 1) * block_M) if causal else S
        for j in T.Pipelined(T.ceildiv(end, block_N), num_stages=stages):
            T.copy(K[z, h, j * block_N, 0], K_s)
            T.clear(score)
            T.gemm(Q_s, K_s, score, transpose_B=True)
            for r, c in T.Parallel(block_M, block_N):
                column = j * block_N + c
                last = T.min(S, bm * block_M + r + 1) if causal else S
                score[r, c] = T.if_then_else(column < last, score[r, c], -T.infinity(T.float32))
            T.copy(top, old)
            T.reduce_max(score, top, dim=1, clear=False)
            for r in T.Parallel(block_M):
                alpha[r] = T.exp2((old[r] - top[r]) * scale)
            for r, c in T.Parallel(block_M, block_N):
                score[r, c] = T.exp2(score[r, c] * scale - top[r] * scale)
            T.reduce_sum(score, row, dim=1)
            for r in T.Parallel(block_M):
                total[r] = total[r] * alpha[r] + row[r]
            T.copy(score, weight)
            for r, c in T.Parallel(block_M, D):
                out[r, c] = out[r, c] * alpha[r]
            T.copy(V[z, h, j * block_N, 0], V_s)
            T.gemm(weight, V_s, out)
        for r, c in T.Parallel(block_M, D):
            out[r, c] = out[r, c] / total[r]
        T.copy(out, O[z, h, bm * block_M, 0])
    return O


def add(X, Y, dtype, block=4096, threads=256):
    N = T.const("N")
    X: T.Tensor((N,), dtype)
    Y: T.Tensor((N,), dtype)
    Z = T.empty((N,), dtype)
    with T.Kernel(T.ceildiv(N, block), threads=threads) as b:
        x, y = (T.alloc_fragment((block,), dtype) for _ in range(2))
        T.copy(X[b * block], x)
        T.copy(Y[b * block], y)
        for i in T.Parallel(block):
            x[i] += y[i]
        T.copy(x, Z[b * block])
    return Z


def row_sum(X, dtype, rows=1, block=4096, threads=256):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as b:
        x = T.alloc_fragment((rows, block), dtype)
        sums = T.alloc_fragment((rows, block), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.clear(sums)
        for k in T.serial(T.ceildiv(N, block)):
            T.copy(X[b * rows, k * block], x)
            for i, j in T.Parallel(rows, block):
                sums[i, j] += x[i, j]
        T.reduce_sum(sums, total, dim=1)
        T.copy(total, Y[b * rows])
    return Y
