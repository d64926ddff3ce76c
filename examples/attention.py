"""Attention over dense batches: many or few key heads, causal or not, heads of any width.

One pass over blocks of keys. A row keeps its maximum and the sum of its exponentials; when the
maximum grows, sum and output shrink by the exponential of the difference. Scores never leave
registers. A group of query heads reads the same key head: multi-query and grouped-query attention
are a matter of which head is copied.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def attention(Q, K, V, causal, dtype=T.float16, block_M=64, block_N=64, threads=128):
    """O [B, S, heads, dim]; query i sees keys up to i + keys - queries where `causal`."""
    B, S, heads, dim, keys, kv_heads = T.const("B, S, heads, dim, keys, kv_heads")
    Q: T.Tensor((B, S, heads, dim), dtype)
    K: T.Tensor((B, keys, kv_heads, dim), dtype)
    V: T.Tensor((B, keys, kv_heads, dim), dtype)
    O = T.empty((B, S, heads, dim), dtype)
    scale = math.log2(math.e) / math.sqrt(dim)
    group, ahead = heads // kv_heads, keys - S
    with T.Kernel(T.ceildiv(S, block_M), heads, B, threads=threads) as (bm, h, b):
        Q_s = T.alloc_shared((block_M, dim), dtype)
        K_s = T.alloc_shared((block_N, dim), dtype)
        V_s = T.alloc_shared((block_N, dim), dtype)
        score = T.alloc_fragment((block_M, block_N), T.float32)
        weight = T.alloc_fragment((block_M, block_N), dtype)
        out = T.alloc_fragment((block_M, dim), T.float32)
        top, before = (T.alloc_fragment((block_M,), T.float32) for _ in range(2))
        alpha, part, total = (T.alloc_fragment((block_M,), T.float32) for _ in range(3))
        T.copy(Q[b, bm * block_M : (bm + 1) * block_M, h, :], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        end = T.min(keys, (bm + 1) * block_M + ahead) if causal else keys
        for n in T.Pipelined(T.ceildiv(end, block_N), num_stages=2):
            T.copy(K[b, n * block_N : (n + 1) * block_N, h // group, :], K_s)
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_M, block_N):
                last = T.min(keys, bm * block_M + i + 1 + ahead) if causal else keys
                seen = n * block_N + j < last
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
            T.copy(V[b, n * block_N : (n + 1) * block_N, h // group, :], V_s)
            T.gemm(weight, V_s, out)
        for i, d in T.Parallel(block_M, dim):
            out[i, d] /= total[i]
        T.copy(out, O[b, bm * block_M : (bm + 1) * block_M, h, :])
    return O


def reference(q, k, v, causal):
    group = q.shape[2] // k.shape[2]
    k, v = (np.repeat(a, group, axis=2) for a in (k, v))
    score = np.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
    if causal:
        rows, columns = score.shape[2:]
        score = np.where(np.tri(rows, columns, columns - rows) > 0, score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return np.einsum("bhij,bjhd->bihd", weight / weight.sum(axis=-1, keepdims=True), v)


def case(B, S, heads, dim, causal=True, keys=None, kv_heads=None, **more):
    q, kv = (B, S, heads, dim), (B, keys or S, kv_heads or heads, dim)
    return Case(
        kernel=attention,
        inputs=lambda rng: tuple(normal(rng, *shape, dtype=np.float16) for shape in (q, kv, kv)),
        reference=lambda q, k, v: reference(q, k, v, causal),
        options={"causal": causal, **more.pop("options", {})},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{B}x{S}x{heads}x{dim}, {kv[1]} keys of {kv[2]} heads{', causal' * causal}",
        **more,
    )


CASES = [
    case(1, 100, 2, 64),
    case(1, 77, 4, 128, kv_heads=2, causal=False),
    case(2, 33, 3, 96, keys=70, kv_heads=1, tiles={"gfx1100": {"block_N": 32}}, emulate=False),
    case(
        *(1, 65, 1, 256),
        options={"block_N": 32},
        tiles={"apple9": {"block_M": 32, "block_N": 16}},
        emulate=False,
    ),
]

if __name__ == "__main__":
    main(CASES)
