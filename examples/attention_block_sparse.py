"""Block-sparse attention: for every block of queries a list of the blocks of keys that it sees.

The loop runs over the list instead of all keys, so that work falls with the number of blocks.
Indices come from memory; the copies of a pipelined loop are asynchronous all the same.
"""

import math
from functools import partial

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def sparse_attention(Q, K, V, chosen, count, dtype=T.float16, block=64, threads=128):
    """O [B, heads, S, dim]; query block m sees key blocks chosen[heads, m, :count[heads, m]]."""
    B, heads, S, dim, blocks, most = T.const("B, heads, S, dim, blocks, most")
    Q: T.Tensor((B, heads, S, dim), dtype)
    K: T.Tensor((B, heads, S, dim), dtype)
    V: T.Tensor((B, heads, S, dim), dtype)
    chosen: T.Tensor((heads, blocks, most), T.int32)
    count: T.Tensor((heads, blocks), T.int32)
    O = T.empty((B, heads, S, dim), dtype)
    scale = math.log2(math.e) / math.sqrt(dim)
    with T.Kernel(blocks, heads, B, threads=threads) as (m, h, b):
        Q_s = T.alloc_shared((block, dim), dtype)
        K_s = T.alloc_shared((block, dim), dtype)
        V_s = T.alloc_shared((block, dim), dtype)
        score = T.alloc_fragment((block, block), T.float32)
        weight = T.alloc_fragment((block, block), dtype)
        out = T.alloc_fragment((block, dim), T.float32)
        top, before = (T.alloc_fragment((block,), T.float32) for _ in range(2))
        alpha, part, total = (T.alloc_fragment((block,), T.float32) for _ in range(3))
        T.copy(Q[b, h, m * block, 0], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        for n in T.Pipelined(count[h, m], num_stages=2):
            at = chosen[h, m, n] * block
            T.copy(K[b, h, at, 0], K_s)
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block, block):
                seen = chosen[h, m, n] * block + j < S
                score[i, j] = T.if_then_else(seen, score[i, j] * scale, -T.infinity(T.float32))
            T.copy(top, before)
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(block):
                alpha[i] = T.exp2(before[i] - top[i])
            for i, j in T.Parallel(block, block):
                score[i, j] = T.exp2(score[i, j] - top[i])
            T.reduce_sum(score, part, dim=1)
            for i in T.Parallel(block):
                total[i] = total[i] * alpha[i] + part[i]
            for i, d in T.Parallel(block, dim):
                out[i, d] *= alpha[i]
            T.copy(score, weight)
            T.copy(V[b, h, at, 0], V_s)
            T.gemm(weight, V_s, out)
        for i, d in T.Parallel(block, dim):
            out[i, d] = T.if_then_else(total[i] > 0, out[i, d] / total[i], 0)
        T.copy(out, O[b, h, m * block, 0])
    return O


def reference(q, k, v, chosen, count, block):
    S, (heads, blocks) = q.shape[2], count.shape
    seen = np.zeros((heads, blocks, blocks), bool)
    for h, m in np.ndindex(heads, blocks):
        seen[h, m, chosen[h, m, : count[h, m]]] = True
    seen = seen.repeat(block, axis=1).repeat(block, axis=2)[:, :S, :S]
    score = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
    weight = np.where(seen, np.exp(score - score.max(axis=-1, keepdims=True)), 0)
    total = weight.sum(axis=-1, keepdims=True)
    return weight / np.where(total > 0, total, 1) @ v


def case(B, heads, S, dim, most, block, **more):
    blocks = -(-S // block)

    def inputs(rng):
        chosen = np.argsort(rng.random((heads, blocks, blocks)))[..., :most].astype(np.int32)
        count = rng.integers(0, most + 1, (heads, blocks)).astype(np.int32)
        qkv = (normal(rng, B, heads, S, dim, dtype=np.float16) for _ in range(3))
        return *qkv, chosen, count

    return Case(
        kernel=sparse_attention,
        inputs=inputs,
        reference=partial(reference, block=block),
        options={"block": block},
        tiles={"gfx1100": {"threads": 256}},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{B}x{heads}x{S}x{dim}, at most {most} of {blocks} blocks of {block}",
        **more,
    )


CASES = [case(1, 2, 300, 64, 2, 64), case(1, 1, 129, 128, 3, 32, emulate=False)]

if __name__ == "__main__":
    main(CASES)
