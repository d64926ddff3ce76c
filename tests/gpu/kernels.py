"""Kernels for accelerators: what the gates compile and the device tests run."""

import math

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul(A, B, dtype, out, accumulate, transpose_a=False, transpose_b=False, block=(64, 64, 32)):
    """Any layouts and types; one build for each shape."""
    M, N, K = T.const("M, N, K")
    block_M, block_N, block_K = block
    a_shape, a_tile = ((K, M), (block_K, block_M)) if transpose_a else ((M, K), (block_M, block_K))
    b_shape, b_tile = ((N, K), (block_N, block_K)) if transpose_b else ((K, N), (block_K, block_N))
    A: T.Tensor(a_shape, dtype)
    B: T.Tensor(b_shape, dtype)
    C = T.empty((M, N), out)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared(a_tile, dtype)
        B_s = T.alloc_shared(b_tile, dtype)
        C_l = T.alloc_fragment((block_M, block_N), accumulate)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            if transpose_a:
                T.copy(A[k * block_K, by * block_M], A_s)
            else:
                T.copy(A[by * block_M, k * block_K], A_s)
            if transpose_b:
                T.copy(B[bx * block_N, k * block_K], B_s)
            else:
                T.copy(B[k * block_K, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l, transpose_A=transpose_a, transpose_B=transpose_b)
        T.copy(C_l, C[by * block_M, bx * block_N])
    return C


@tile.jit
def matmul_of_any_size(A, B, dtype, block=(64, 64, 32)):
    """One build for all shapes."""
    M, N, K = T.dynamic("M, N, K")
    block_M, block_N, block_K = block
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


@tile.jit
def attention(Q, K, V, dtype, causal, block_M=64, block_N=64):
    """Flash attention; scores and sums in float32."""
    batch, heads, length, dim = T.const("batch, heads, length, dim")
    Q: T.Tensor((batch, heads, length, dim), dtype)
    K: T.Tensor((batch, heads, length, dim), dtype)
    V: T.Tensor((batch, heads, length, dim), dtype)
    O = T.empty((batch, heads, length, dim), dtype)
    scale = 1 / math.sqrt(dim) * math.log2(math.e)
    with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=128) as (bm, h, b):
        Q_s = T.alloc_shared((block_M, dim), dtype)
        K_s = T.alloc_shared((block_N, dim), dtype)
        V_s = T.alloc_shared((block_N, dim), dtype)
        scores = T.alloc_fragment((block_M, block_N), T.float32)
        weights = T.alloc_fragment((block_M, block_N), dtype)
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
        last = (bm + 1) * block_M if causal else length
        for j in T.Pipelined(T.ceildiv(last, block_N), num_stages=2):
            T.copy(K[b, h, j * block_N : (j + 1) * block_N, :], K_s)
            T.gemm(Q_s, K_s, scores, transpose_B=True, clear_accum=True)
            for r, c in T.Parallel(block_M, block_N):
                key = j * block_N + c
                visible = bm * block_M + r >= key if causal else key < length
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
            T.copy(scores, weights)
            T.copy(V[b, h, j * block_N : (j + 1) * block_N, :], V_s)
            T.gemm(weights, V_s, acc)
        for r, d in T.Parallel(block_M, dim):
            acc[r, d] /= total[r]
        T.copy(acc, O[b, h, bm * block_M : (bm + 1) * block_M, :])
    return O


@tile.jit
def add(A, B, dtype, block=1024):
    """Element by element, one build for all lengths."""
    n = T.dynamic("n")
    A: T.Tensor((n,), dtype)
    B: T.Tensor((n,), dtype)
    C = T.empty((n,), dtype)
    with T.Kernel(T.ceildiv(n, block), threads=128) as b:
        for i in T.Parallel(block):
            at = b * block + i
            if at < n:
                C[at] = A[at] + B[at]
    return C


@tile.jit
def layer_norm(X, W, B, dtype, eps=1e-5):
    """Normalised rows with weight and bias."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    B: T.Tensor((N,), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((1, N), T.float32)
        square = T.alloc_fragment((1, N), T.float32)
        mean = T.alloc_fragment((1,), T.float32)
        scale = T.alloc_fragment((1,), T.float32)
        T.copy(X[row, 0], x)
        T.reduce_sum(x, mean, dim=1)
        for i, j in T.Parallel(1, N):
            x[i, j] = x[i, j] - mean[i] / N
        for i, j in T.Parallel(1, N):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, scale, dim=1)
        for i in T.Parallel(1):
            scale[i] = T.rsqrt(scale[i] / N + eps)
        for i, j in T.Parallel(1, N):
            Y[row, j] = x[i, j] * scale[i] * W[j] + B[j]
    return Y


@tile.jit
def matmul_split(A, B, C, parts, block=(64, 64, 32)):
    """C += A B, the inner axis in parts that many blocks add up."""
    M, N, K = T.const("M, N, K")
    block_M, block_N, block_K = block
    A: T.Tensor((M, K), T.float16)
    B: T.Tensor((K, N), T.float16)
    C: T.Tensor((M, N), T.float32)
    grid = (T.ceildiv(N, block_N), T.ceildiv(M, block_M), parts)
    with T.Kernel(*grid, threads=128) as (bx, by, bz):
        A_s = T.alloc_shared((block_M, block_K), T.float16)
        B_s = T.alloc_shared((block_K, block_N), T.float16)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(K // parts // block_K, num_stages=2):
            at = bz * (K // parts) + k * block_K
            T.copy(A[by * block_M, at], A_s)
            T.copy(B[at, bx * block_N], B_s)
            T.gemm(A_s, B_s, C_l)
        T.atomic_add(C[by * block_M, bx * block_N], C_l)
