"""Kernels one step away from those that are measured: what a template would not know."""

import tile_frontend as tile
import tile_frontend.language as T

LOG2_E = 1.44269504


@tile.jit
def attention(  # noqa: C901 -- a kernel stands in one piece
    Q, K, V, W, twist="", causal=False, block_M=128, block_N=128, threads=256
):
    """Attention whose scores are capped or get a bias by distance, or that weighs a second matrix
    of values, W, which goes into the result with a minus."""
    B, H, S, D = T.const("B, H, S, D")
    Q: T.Tensor((B, H, S, D), T.float16)
    K: T.Tensor((B, H, S, D), T.float16)
    V: T.Tensor((B, H, S, D), T.float16)
    W: T.Tensor((B, H, S, D), T.float16)
    O = T.empty((B, H, S, D), T.float16)
    scale = (1.0 / D) ** 0.5 * LOG2_E
    with T.Kernel(T.ceildiv(S, block_M), H, B, threads=threads) as (bm, h, z):
        Q_s = T.alloc_shared((block_M, D), T.float16)
        K_s = T.alloc_shared((block_N, D), T.float16)
        V_s = T.alloc_shared((block_N, D), T.float16)
        score = T.alloc_fragment((block_M, block_N), T.float32)
        weight = T.alloc_fragment((block_M, block_N), T.float16)
        out = T.alloc_fragment((block_M, D), T.float32)
        top = T.alloc_fragment((block_M,), T.float32)
        old = T.alloc_fragment((block_M,), T.float32)
        alpha = T.alloc_fragment((block_M,), T.float32)
        row = T.alloc_fragment((block_M,), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(Q[z, h, bm * block_M, 0], Q_s)
        T.clear(out)
        if twist == "second values":
            W_s = T.alloc_shared((block_N, D), T.float16)
            other = T.alloc_fragment((block_M, D), T.float32)
            T.clear(other)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        end = T.min(S, (bm + 1) * block_M) if causal else S
        for j in T.Pipelined(T.ceildiv(end, block_N), num_stages=2):
            T.copy(K[z, h, j * block_N, 0], K_s)
            T.clear(score)
            T.gemm(Q_s, K_s, score, transpose_B=True)
            if twist == "cap":
                for r, c in T.Parallel(block_M, block_N):
                    score[r, c] = T.tanh(score[r, c] * (scale / 30.0)) * (30.0 / scale)
            if twist == "distance":
                for r, c in T.Parallel(block_M, block_N):
                    score[r, c] += (j * block_N + c - bm * block_M - r) * 0.25
            for r, c in T.Parallel(block_M, block_N):
                last = T.min(S, bm * block_M + r + 1) if causal else S
                seen = j * block_N + c < last
                score[r, c] = T.if_then_else(seen, score[r, c], -T.infinity(T.float32))
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
                out[r, c] *= alpha[r]
            T.copy(V[z, h, j * block_N, 0], V_s)
            T.gemm(weight, V_s, out)
            if twist == "second values":
                for r, c in T.Parallel(block_M, D):
                    other[r, c] *= alpha[r]
                T.copy(W[z, h, j * block_N, 0], W_s)
                T.gemm(weight, W_s, other)
        for r, c in T.Parallel(block_M, D):
            if twist == "second values":
                out[r, c] -= other[r, c] * 0.5
            out[r, c] /= total[r]
        T.copy(out, O[z, h, bm * block_M, 0])
    return O


@tile.jit
def attention_by_halves(  # noqa: C901 -- a kernel stands in one piece
    Q, K, V, block_M=128, block_N=64, threads=256
):
    """Attention that takes two blocks of keys at a time, with scores and weights of their own and
    one maximum."""
    B, H, S, D = T.const("B, H, S, D")
    Q: T.Tensor((B, H, S, D), T.float16)
    K: T.Tensor((B, H, S, D), T.float16)
    V: T.Tensor((B, H, S, D), T.float16)
    O = T.empty((B, H, S, D), T.float16)
    scale = (1.0 / D) ** 0.5 * LOG2_E
    with T.Kernel(T.ceildiv(S, block_M), H, B, threads=threads) as (bm, h, z):
        Q_s = T.alloc_shared((block_M, D), T.float16)
        tiles = [T.alloc_shared((block_N, D), T.float16) for _ in range(4)]
        scores = [T.alloc_fragment((block_M, block_N), T.float32) for _ in range(2)]
        weights = [T.alloc_fragment((block_M, block_N), T.float16) for _ in range(2)]
        rows = [T.alloc_fragment((block_M,), T.float32) for _ in range(2)]
        out = T.alloc_fragment((block_M, D), T.float32)
        top = T.alloc_fragment((block_M,), T.float32)
        old = T.alloc_fragment((block_M,), T.float32)
        alpha = T.alloc_fragment((block_M,), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(Q[z, h, bm * block_M, 0], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        for j in T.Pipelined(T.ceildiv(S, 2 * block_N), num_stages=2):
            for half in range(2):
                T.copy(K[z, h, (2 * j + half) * block_N, 0], tiles[half])
                T.gemm(Q_s, tiles[half], scores[half], transpose_B=True, clear_accum=True)
                for r, c in T.Parallel(block_M, block_N):
                    seen = (2 * j + half) * block_N + c < S
                    scores[half][r, c] = T.if_then_else(
                        seen, scores[half][r, c], -T.infinity(T.float32)
                    )
            T.copy(top, old)
            for half in range(2):
                T.reduce_max(scores[half], top, dim=1, clear=False)
            for r in T.Parallel(block_M):
                alpha[r] = T.exp2((old[r] - top[r]) * scale)
            for half in range(2):
                for r, c in T.Parallel(block_M, block_N):
                    scores[half][r, c] = T.exp2(scores[half][r, c] * scale - top[r] * scale)
                T.reduce_sum(scores[half], rows[half], dim=1)
                T.copy(scores[half], weights[half])
            for r in T.Parallel(block_M):
                total[r] = total[r] * alpha[r] + (rows[0][r] + rows[1][r])
            for r, c in T.Parallel(block_M, D):
                out[r, c] *= alpha[r]
            for half in range(2):
                T.copy(V[z, h, (2 * j + half) * block_N, 0], tiles[2 + half])
                T.gemm(weights[half], tiles[2 + half], out)
        for r, c in T.Parallel(block_M, D):
            out[r, c] /= total[r]
        T.copy(out, O[z, h, bm * block_M, 0])
    return O


@tile.jit
def matmul(A, B, bias, twist="", block_M=128, block_N=128, block_K=64, stages=4, threads=256):
    """A product whose blocks are of any width, with a bias and an activation before the store."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    bias: T.Tensor((N,), T.float32)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        B_s = T.alloc_shared((block_K, block_N), T.float16)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        if twist == "bias, gelu":
            bias_l = T.alloc_fragment((block_N,), T.float32)
            T.copy(bias[bx * block_N], bias_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        if twist == "bias, gelu":
            for i, j in T.Parallel(block_M, block_N):
                x = C_l[i, j] + bias_l[j]
                C_l[i, j] = 0.5 * x * (1.0 + T.tanh(0.7978846 * (x + 0.044715 * x * x * x)))
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def gated_matmul(A, B, G, block_M=128, block_N=128, block_K=64, stages=3, threads=256):
    """silu(A G) * (A B): two products of one A."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    G: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        B_s = T.alloc_shared((block_K, block_N), T.float16)
        G_s = T.alloc_shared((block_K, block_N), T.float16)
        value = T.alloc_fragment((block_M, block_N), T.float32)
        gate = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(value)
        T.clear(gate)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.copy(G[k * block_K, bx * block_N], G_s)
            T.gemm(A_s, B_s, value)
            T.gemm(A_s, G_s, gate)
        for i, j in T.Parallel(block_M, block_N):
            value[i, j] *= gate[i, j] / (1.0 + T.exp2(gate[i, j] * -LOG2_E))
        T.copy(value, C[by * block_M, bx * block_N])
    return C


@tile.jit
def scaled_matmul(A, B, scale, block_M=128, block_N=128, block_K=64, stages=4, threads=256):
    """A product whose blocks of A have a factor for each row: it is applied in the loop over k."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    scale: T.Tensor((T.ceildiv(K, block_K), M), T.float32)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        B_s = T.alloc_shared((block_K, block_N), T.float16)
        factor = T.alloc_fragment((block_M,), T.float32)
        part = T.alloc_fragment((block_M, block_N), T.float32)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            T.copy(B[k * block_K, bx * block_N], B_s)
            T.copy(scale[k, by * block_M], factor)
            T.gemm(A_s, B_s, part, clear_accum=True)
            for i, j in T.Parallel(block_M, block_N):
                C_l[i, j] += part[i, j] * factor[i]
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def squares(A, block_M=64, block_K=128, stages=4, threads=128):
    """The sum of the squares of each row: a pipelined loop without a product."""
    M, K = T.const("M, K")
    A: T.Tensor((M, K), T.float16)
    S = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as by:
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        square = T.alloc_fragment((block_M, block_K), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
            T.copy(A[by * block_M, k * block_K], A_s)
            for i, j in T.Parallel(block_M, block_K):
                square[i, j] = T.cast(A_s[i, j], T.float32) * T.cast(A_s[i, j], T.float32)
            T.reduce_sum(square, total, dim=1, clear=False)
        T.copy(total, S[by * block_M])
    return S


@tile.jit
def matmul_of_sums(A, B, parts, block_M=128, block_N=128, block_K=64, stages=3, threads=256):
    """The largest of several products, element by element: a pipelined loop in a pipelined loop."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        B_s = T.alloc_shared((block_K, block_N), T.float16)
        part = T.alloc_fragment((block_M, block_N), T.float32)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.fill(C_l, -T.infinity(T.float32))
        for p in T.Pipelined(parts, num_stages=1):
            T.clear(part)
            for k in T.Pipelined(T.ceildiv(K // parts, block_K), num_stages=stages):
                T.copy(A[by * block_M, p * (K // parts) + k * block_K], A_s)
                T.copy(B[p * (K // parts) + k * block_K, bx * block_N], B_s)
                T.gemm(A_s, B_s, part)
            for i, j in T.Parallel(block_M, block_N):
                C_l[i, j] = T.max(C_l[i, j], part[i, j])
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C
