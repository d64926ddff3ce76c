"""The tile programs that the CPU benchmarks run: plain loops over tiles, no intrinsics."""

from __future__ import annotations

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit(target="cpu")
def matmul(A, B, dtype, block_M=112, block_N=512, block_K=1024):
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
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit(target="cpu")
def softmax(X):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((1, N), T.float32)
        top = T.alloc_fragment((1,), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        T.copy(X[row, 0], x)
        T.reduce_max(x, top, dim=1)
        for i, j in T.Parallel(1, N):
            x[i, j] = T.exp(x[i, j] - top[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(1, N):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[row, 0])
    return Y


@tile.jit(target="cpu")
def rms_norm(X, W, eps=1e-6):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    W: T.Tensor((N,), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((1, N), T.float32)
        square = T.alloc_fragment((1, N), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        T.copy(X[row, 0], x)
        for i, j in T.Parallel(1, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, total, dim=1)
        for i in T.Parallel(1):
            total[i] = T.rsqrt(total[i] / N + eps)
        for i, j in T.Parallel(1, N):
            Y[row, j] = x[i, j] * total[i] * W[j]
    return Y


@tile.jit(target="cpu")
def layer_norm(X, W, B, eps=1e-5):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    W: T.Tensor((N,), T.float32)
    B: T.Tensor((N,), T.float32)
    Y = T.empty((M, N), T.float32)
    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((1, N), T.float32)
        square = T.alloc_fragment((1, N), T.float32)
        mean = T.alloc_fragment((1,), T.float32)
        scale = T.alloc_fragment((1,), T.float32)
        T.copy(X[row, 0], x)
        T.reduce_sum(x, mean, dim=1)
        for i in T.Parallel(1):
            mean[i] = mean[i] / N
        for i, j in T.Parallel(1, N):
            x[i, j] = x[i, j] - mean[i]
        for i, j in T.Parallel(1, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, scale, dim=1)
        for i in T.Parallel(1):
            scale[i] = T.rsqrt(scale[i] / N + eps)
        for i, j in T.Parallel(1, N):
            Y[row, j] = x[i, j] * scale[i] * W[j] + B[j]
    return Y


@tile.jit(target="cpu")
def attention(Q, K, V, causal=True, block_M=128, block_N=128):
    B, H, S, D = T.const("B, H, S, D")
    Q: T.Tensor((B, H, S, D), T.float32)
    K: T.Tensor((B, H, S, D), T.float32)
    V: T.Tensor((B, H, S, D), T.float32)
    O = T.empty((B, H, S, D), T.float32)
    scale = (1.0 / D) ** 0.5 * 1.44269504
    with T.Kernel(T.ceildiv(S, block_M), H, B, threads=128) as (bm, h, z):
        Q_s = T.alloc_shared((block_M, D), T.float32)
        K_s = T.alloc_shared((block_N, D), T.float32)
        V_s = T.alloc_shared((block_N, D), T.float32)
        score = T.alloc_fragment((block_M, block_N), T.float32)
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
        for j in T.Pipelined(T.ceildiv(end, block_N), num_stages=2):
            T.copy(K[z, h, j * block_N, 0], K_s)
            T.clear(score)
            T.gemm(Q_s, K_s, score, transpose_B=True)
            for r, q in T.Parallel(block_M, block_N):
                column = j * block_N + q
                last = T.min(S, bm * block_M + r + 1) if causal else S
                score[r, q] = T.if_then_else(column < last, score[r, q], -T.infinity(T.float32))
            T.copy(top, old)
            T.reduce_max(score, top, dim=1, clear=False)
            for r in T.Parallel(block_M):
                alpha[r] = T.exp2((old[r] - top[r]) * scale)
            for r, q in T.Parallel(block_M, block_N):
                score[r, q] = T.exp2(score[r, q] * scale - top[r] * scale)
            T.reduce_sum(score, row, dim=1)
            for r in T.Parallel(block_M):
                total[r] = total[r] * alpha[r] + row[r]
            for r, d in T.Parallel(block_M, D):
                out[r, d] = out[r, d] * alpha[r]
            T.copy(V[z, h, j * block_N, 0], V_s)
            T.gemm(score, V_s, out)
        for r, d in T.Parallel(block_M, D):
            out[r, d] = out[r, d] / total[r]
        T.copy(out, O[z, h, bm * block_M, 0])
    return O
