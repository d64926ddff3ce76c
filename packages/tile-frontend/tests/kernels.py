"""Kernels that several tests trace."""

import tile_frontend.language as T


def matmul(M, N, K, bm=64, bn=64, bk=32, stages=3):
    @T.prim_func
    def matmul(
        A: T.Tensor((M, K), T.float16),
        B: T.Tensor((K, N), T.float16),
        C: T.Tensor((M, N), T.float16),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
            A_s = T.alloc_shared((bm, bk), T.float16)
            B_s = T.alloc_shared((bk, bn), T.float16)
            C_l = T.alloc_fragment((bm, bn), T.float32)
            T.use_swizzle(10)
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], A_s)
                T.copy(B[k * bk, bx * bn], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * bm, bx * bn])

    return matmul


def attention(batch, heads, length, dim, bm=32, bn=32):
    scale = dim**-0.5

    @T.prim_func
    def attention(
        Q: T.Tensor((batch, heads, length, dim), T.float32),
        K: T.Tensor((batch, heads, length, dim), T.float32),
        V: T.Tensor((batch, heads, length, dim), T.float32),
        O: T.Tensor((batch, heads, length, dim), T.float32),
    ):
        with T.Kernel(T.ceildiv(length, bm), heads, batch, threads=128) as (i, h, b):
            Q_s = T.alloc_shared((bm, dim), T.float32)
            K_s = T.alloc_shared((bn, dim), T.float32)
            V_s = T.alloc_shared((bn, dim), T.float32)
            S = T.alloc_fragment((bm, bn), T.float32)
            acc = T.alloc_fragment((bm, dim), T.float32)
            top = T.alloc_fragment((bm,), T.float32)
            before = T.alloc_fragment((bm,), T.float32)
            total = T.alloc_fragment((bm,), T.float32)
            part = T.alloc_fragment((bm,), T.float32)
            T.copy(Q[b, h, i * bm : (i + 1) * bm, :], Q_s)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity(T.float32))
            for j in T.Pipelined(T.ceildiv((i + 1) * bm, bn), num_stages=2):
                T.copy(K[b, h, j * bn : (j + 1) * bn, :], K_s)
                T.gemm(Q_s, K_s, S, transpose_B=True, clear_accum=True)
                for r, c in T.Parallel(bm, bn):
                    seen = i * bm + r >= j * bn + c
                    S[r, c] = T.if_then_else(seen, S[r, c] * scale, -T.infinity(T.float32))
                T.copy(top, before)
                T.reduce_max(S, top, dim=1, clear=False)
                for r, c in T.Parallel(bm, bn):
                    S[r, c] = T.exp(S[r, c] - top[r])
                T.reduce_sum(S, part, dim=1)
                for r in T.Parallel(bm):
                    total[r] = total[r] * T.exp(before[r] - top[r]) + part[r]
                for r, d in T.Parallel(bm, dim):
                    acc[r, d] *= T.exp(before[r] - top[r])
                T.copy(V[b, h, j * bn : (j + 1) * bn, :], V_s)
                T.gemm(S, V_s, acc)
            for r, d in T.Parallel(bm, dim):
                acc[r, d] /= total[r]
            T.copy(acc, O[b, h, i * bm : (i + 1) * bm, :])

    return attention
