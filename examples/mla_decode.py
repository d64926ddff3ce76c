"""Decoding with latent attention: all heads share one compressed key, which is the value too.

A token keeps `latent` numbers, from which queries (projected beforehand) make scores and which
are the values, and a few numbers more that carry the position. So a tile of keys is read once for
two products, and heads are the rows of the matrix unit's tile.
"""

import math
from functools import partial

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def mla_decode(
    Q, Q_pos, KV, K_pos, scale, dtype=T.float16, rows=16, block=32, stages=2, threads=128
):
    """O [B, heads, latent] of Q, KV [B, S, latent] and their positional parts."""
    B, heads, latent, rope, S = T.const("B, heads, latent, rope, S")
    Q: T.Tensor((B, heads, latent), dtype)
    Q_pos: T.Tensor((B, heads, rope), dtype)
    KV: T.Tensor((B, S, latent), dtype)
    K_pos: T.Tensor((B, S, rope), dtype)
    O = T.empty((B, heads, latent), dtype)
    with T.Kernel(T.ceildiv(heads, rows), B, threads=threads) as (hb, b):
        Q_s = T.alloc_shared((rows, latent), dtype)
        Qp_s = T.alloc_shared((rows, rope), dtype)
        KV_s = T.alloc_shared((block, latent), dtype)
        Kp_s = T.alloc_shared((block, rope), dtype)
        weight = T.alloc_shared((rows, block), dtype)
        score = T.alloc_fragment((rows, block), T.float32)
        out = T.alloc_fragment((rows, latent), T.float32)
        top, before = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        alpha, part, total = (T.alloc_fragment((rows,), T.float32) for _ in range(3))
        T.copy(Q[b, hb * rows, 0], Q_s)
        T.copy(Q_pos[b, hb * rows, 0], Qp_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -T.infinity(T.float32))
        for n in T.Pipelined(T.ceildiv(S, block), num_stages=stages):
            T.copy(KV[b, n * block, 0], KV_s)
            T.copy(K_pos[b, n * block, 0], Kp_s)
            T.gemm(Q_s, KV_s, score, transpose_B=True, clear_accum=True)
            T.gemm(Qp_s, Kp_s, score, transpose_B=True)
            for i, j in T.Parallel(rows, block):
                seen = n * block + j < S
                score[i, j] = T.if_then_else(
                    seen, score[i, j] * (scale * math.log2(math.e)), -T.infinity(T.float32)
                )
            T.copy(top, before)
            T.reduce_max(score, top, dim=1, clear=False)
            for i in T.Parallel(rows):
                alpha[i] = T.exp2(before[i] - top[i])
            for i, j in T.Parallel(rows, block):
                score[i, j] = T.exp2(score[i, j] - top[i])
            T.reduce_sum(score, part, dim=1)
            for i in T.Parallel(rows):
                total[i] = total[i] * alpha[i] + part[i]
            T.copy(score, weight)
            for i, d in T.Parallel(rows, latent):
                out[i, d] *= alpha[i]
            T.gemm(weight, KV_s, out)
        for i, d in T.Parallel(rows, latent):
            out[i, d] /= total[i]
        T.copy(out, O[b, hb * rows, 0])
    return O


def reference(q, q_pos, kv, k_pos, scale):
    score = (q @ kv.swapaxes(1, 2) + q_pos @ k_pos.swapaxes(1, 2)) * scale
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True) @ kv


def case(B, heads, S, latent, rope, **more):
    scale = 1 / math.sqrt(latent + rope)
    shapes = (B, heads, latent), (B, heads, rope), (B, S, latent), (B, S, rope)
    return Case(
        kernel=mla_decode,
        inputs=lambda rng: tuple(normal(rng, *s, dtype=np.float16) for s in shapes),
        reference=partial(reference, scale=scale),
        options={"scale": scale, **more.pop("options", {})},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{B} of {S} keys, {heads} heads of {latent}+{rope}",
        **more,
    )


CASES = [
    case(2, 17, 77, 128, 32, tiles={"gfx1100": {"block": 16}}),
    case(1, 20, 130, 512, 64, tiles={"gfx1100": {"block": 16}}, emulate=False),
]

if __name__ == "__main__":
    main(CASES)
