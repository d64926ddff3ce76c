"""Attention that knows its tiles, which depend on head size, mask and length.

As for the product of gemm_tuned.py, a call takes what was tuned here, what comes with the target
for this device, or tries the configurations below. Keys and values are read once per tile of
queries; maximum and sum of a row are corrected as they grow, and scores never leave registers.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T

SPACE = [
    {"block_M": m, "block_N": n, "stages": stages, "threads": threads}
    for m, n, stages, threads in (
        (128, 128, 2, 256),
        (192, 128, 2, 384),
        (128, 64, 2, 256),
        (64, 64, 2, 128),
    )
]


@tile.autotune(configs=SPACE, key=("S", "D", "causal"), bucket="power-of-two")
@tile.jit
def attention(Q, K, V, dtype, causal=True, block_M=128, block_N=128, stages=2, threads=256):
    """O [B, H, S, D]; query i sees keys up to i where `causal`, else all."""
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


def reference(q, k, v, causal):
    score = q @ k.swapaxes(2, 3) / q.shape[-1] ** 0.5
    if causal:
        score = np.where(np.tri(*score.shape[2:]) > 0, score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True) @ v


def case(B, H, S, D, causal):
    """A shape with small tiles, which fit every architecture."""
    return Case(
        kernel=attention.kernel,
        inputs=lambda rng: tuple(normal(rng, B, H, S, D, dtype=np.float16) for _ in range(3)),
        reference=lambda q, k, v: reference(q, k, v, causal),
        options={"dtype": T.float16, "causal": causal, **SPACE[3]},
        tiles={"sm_120": {"block_N": 32}},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{B}x{H}x{S}x{D}{', causal' * causal}",
    )


CASES = [case(2, 2, 100, 64, True), case(1, 2, 77, 64, False)]

if __name__ == "__main__":
    main(CASES)
