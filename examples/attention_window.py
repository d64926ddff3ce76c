"""Attention through a sliding window, with a sink for every head.

A query sees the last `window` keys only, so a block of queries starts at the block of keys where
its first query's window starts. A sink is a score without a value: it takes weight from the keys,
so that a row may look at nothing. It enters the sum of exponentials before the first key does.
"""

import math
from functools import partial

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def window_attention(Q, K, V, sink, window, dtype=T.float16, block_M=64, block_N=64):
    """O [B, heads, S, dim]; query i sees keys i - window + 1 to i, and the sink [heads]."""
    B, heads, S, dim = T.const("B, heads, S, dim")
    Q: T.Tensor((B, heads, S, dim), dtype)
    K: T.Tensor((B, heads, S, dim), dtype)
    V: T.Tensor((B, heads, S, dim), dtype)
    sink: T.Tensor((heads,), T.float32)
    O = T.empty((B, heads, S, dim), dtype)
    scale = math.log2(math.e) / math.sqrt(dim)
    with T.Kernel(T.ceildiv(S, block_M), heads, B, threads=128) as (bm, h, b):
        Q_s = T.alloc_shared((block_M, dim), dtype)
        K_s = T.alloc_shared((block_N, dim), dtype)
        V_s = T.alloc_shared((block_N, dim), dtype)
        score = T.alloc_fragment((block_M, block_N), T.float32)
        weight = T.alloc_fragment((block_M, block_N), dtype)
        out = T.alloc_fragment((block_M, dim), T.float32)
        top, before = (T.alloc_fragment((block_M,), T.float32) for _ in range(2))
        alpha, part, total = (T.alloc_fragment((block_M,), T.float32) for _ in range(3))
        T.copy(Q[b, h, bm * block_M, 0], Q_s)
        T.clear(out)
        T.fill(total, 1)
        for i in T.Parallel(block_M):
            top[i] = sink[h] * math.log2(math.e)
        first = T.max(0, bm * block_M - window + 1) // block_N
        last = T.ceildiv(T.min(S, (bm + 1) * block_M), block_N)
        for n in T.Pipelined(first, last, num_stages=2):
            T.copy(K[b, h, n * block_N, 0], K_s)
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_M, block_N):
                behind = bm * block_M + i - (n * block_N + j)
                seen = behind >= 0 and behind < window
                score[i, j] = T.if_then_else(seen, score[i, j] * scale, -T.infinity(T.float32))
            T.copy(top, before)
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(block_M):
                alpha[i] = T.exp2(before[i] - top[i])
            for i, j in T.Parallel(block_M, block_N):
                score[i, j] = T.exp2(score[i, j] - top[i])
            T.reduce_sum(score, part, dim=1)
            for i in T.Parallel(block_M):
                total[i] = total[i] * alpha[i] + part[i]
            for i, d in T.Parallel(block_M, dim):
                out[i, d] *= alpha[i]
            T.copy(score, weight)
            T.copy(V[b, h, n * block_N, 0], V_s)
            T.gemm(weight, V_s, out)
        for i, d in T.Parallel(block_M, dim):
            out[i, d] /= total[i]
        T.copy(out, O[b, h, bm * block_M, 0])
    return O


def reference(q, k, v, sink, window):
    S = q.shape[2]
    behind = np.arange(S)[:, None] - np.arange(S)
    score = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
    score = np.where((behind >= 0) & (behind < window), score, -np.inf)
    sink = np.broadcast_to(sink[:, None, None], (*score.shape[:3], 1))
    score = np.concatenate([score, sink], axis=-1)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return (weight / weight.sum(axis=-1, keepdims=True))[..., :-1] @ v


def case(B, heads, S, dim, window, **more):
    shape = B, heads, S, dim
    return Case(
        kernel=window_attention,
        inputs=lambda rng: (
            *(normal(rng, *shape, dtype=np.float16) for _ in range(3)),
            normal(rng, heads),
        ),
        reference=partial(reference, window=window),
        options={"window": window},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{B}x{heads}x{S}x{dim}, the last {window}",
        **more,
    )


CASES = [case(1, 2, 200, 64, 50), case(1, 1, 133, 128, 1000, emulate=False), case(2, 1, 70, 64, 1)]

if __name__ == "__main__":
    main(CASES)
