"""Causal attention over sequences of different lengths that lie one behind another.

`starts` holds where each sequence starts, and the end of the last. The grid covers the longest
one; blocks behind the end of their sequence have no trips and write nothing.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def varlen_attention(Q, K, V, starts, longest, dtype=T.float16, block_M=64, block_N=64):
    """O [tokens, heads, dim] of tokens in sequences that start at `starts` [sequences + 1]."""
    tokens, heads, dim, ends = T.const("tokens, heads, dim, ends")
    Q: T.Tensor((tokens, heads, dim), dtype)
    K: T.Tensor((tokens, heads, dim), dtype)
    V: T.Tensor((tokens, heads, dim), dtype)
    starts: T.Tensor((ends,), T.int32)
    O = T.empty((tokens, heads, dim), dtype)
    scale = math.log2(math.e) / math.sqrt(dim)
    with T.Kernel(T.ceildiv(longest, block_M), heads, ends - 1, threads=128) as (bm, h, b):
        Q_s = T.alloc_shared((block_M, dim), dtype)
        K_s = T.alloc_shared((block_N, dim), dtype)
        V_s = T.alloc_shared((block_N, dim), dtype)
        score = T.alloc_fragment((block_M, block_N), T.float32)
        weight = T.alloc_fragment((block_M, block_N), dtype)
        out = T.alloc_fragment((block_M, dim), T.float32)
        top, before = (T.alloc_fragment((block_M,), T.float32) for _ in range(2))
        alpha, part, total = (T.alloc_fragment((block_M,), T.float32) for _ in range(3))
        start, length = starts[b], starts[b + 1] - starts[b]
        T.copy(Q[start + bm * block_M : start + (bm + 1) * block_M, h, :], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        end = T.if_then_else(bm * block_M < length, T.min(length, (bm + 1) * block_M), 0)
        for n in T.Pipelined(T.ceildiv(end, block_N), num_stages=2):
            T.copy(K[start + n * block_N : start + (n + 1) * block_N, h, :], K_s)
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_M, block_N):
                seen = n * block_N + j <= bm * block_M + i
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
            T.copy(V[start + n * block_N : start + (n + 1) * block_N, h, :], V_s)
            T.gemm(weight, V_s, out)
        for i, d in T.Parallel(block_M, dim):
            if bm * block_M + i < length:
                O[start + bm * block_M + i, h, d] = out[i, d] / total[i]
    return O


def reference(q, k, v, starts):
    out = np.empty_like(q)
    for a, z in np.stack([starts[:-1], starts[1:]], axis=1):
        score = np.einsum("ihd,jhd->hij", q[a:z], k[a:z]) / math.sqrt(q.shape[-1])
        score = np.where(np.tri(z - a) > 0, score, -np.inf)
        weight = np.exp(score - score.max(axis=-1, keepdims=True, initial=-1e30))
        weight /= weight.sum(axis=-1, keepdims=True)
        out[a:z] = np.einsum("hij,jhd->ihd", weight, v[a:z])
    return out


def case(lengths, heads, dim, **more):
    shape = sum(lengths), heads, dim
    return Case(
        kernel=varlen_attention,
        inputs=lambda rng: (
            *(normal(rng, *shape, dtype=np.float16) for _ in range(3)),
            np.cumsum([0, *lengths]).astype(np.int32),
        ),
        reference=reference,
        options={"longest": max(lengths)},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{lengths} of {heads}x{dim}",
        **more,
    )


CASES = [
    case((100, 1, 37), 2, 64),
    case((5, 0, 130, 64), 1, 128, tiles={"gfx1100": {"block_M": 32, "block_N": 32}}, emulate=False),
]

if __name__ == "__main__":
    main(CASES)
