"""Linear attention with decay, in chunks: a state instead of all keys.

O_t = q_t S_t with S_t = decay * S_(t-1) + k_t v_t is a recurrence of outer products. In a chunk
it becomes three products: what the state before the chunk gives, what earlier tokens of the chunk
give, and what the chunk adds to the state, each weighed by powers of the decay.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def linear_attention(Q, K, V, decay, dtype=T.float16, chunk=64, block_V=64, threads=128):
    """O [B, heads, S, dim_v]; decay [heads] is the logarithm of the factor to base 2."""
    B, heads, S, dim, dim_v = T.const("B, heads, S, dim, dim_v")
    Q: T.Tensor((B, heads, S, dim), dtype)
    K: T.Tensor((B, heads, S, dim), dtype)
    V: T.Tensor((B, heads, S, dim_v), dtype)
    decay: T.Tensor((heads,), T.float32)
    O = T.empty((B, heads, S, dim_v), dtype)
    with T.Kernel(T.ceildiv(dim_v, block_V), heads, B, threads=threads) as (bv, h, b):
        Q_s = T.alloc_shared((chunk, dim), dtype)
        K_s = T.alloc_shared((chunk, dim), dtype)
        V_s = T.alloc_shared((chunk, block_V), dtype)
        state_s = T.alloc_shared((dim, block_V), dtype)
        score = T.alloc_fragment((chunk, chunk), T.float32)
        weight = T.alloc_fragment((chunk, chunk), dtype)
        out = T.alloc_fragment((chunk, block_V), T.float32)
        state = T.alloc_fragment((dim, block_V), T.float32)
        T.clear(state)
        for c in T.Pipelined(T.ceildiv(S, chunk), num_stages=2):
            T.copy(Q[b, h, c * chunk, 0], Q_s)
            T.copy(K[b, h, c * chunk, 0], K_s)
            T.copy(V[b, h, c * chunk, bv * block_V], V_s)
            T.copy(state, state_s)
            T.gemm(Q_s, state_s, out, clear_accum=True)
            for i, d in T.Parallel(chunk, block_V):
                out[i, d] *= T.exp2(decay[h] * (i + 1))
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                score[i, j] = T.if_then_else(j <= i, score[i, j] * T.exp2(decay[h] * (i - j)), 0)
            T.copy(score, weight)
            T.gemm(weight, V_s, out)
            T.copy(out, O[b, h, c * chunk, bv * block_V])
            for i, d in T.Parallel(chunk, block_V):
                V_s[i, d] = V_s[i, d] * T.exp2(decay[h] * (chunk - 1 - i))
            for i, d in T.Parallel(dim, block_V):
                state[i, d] *= T.exp2(decay[h] * chunk)
            T.gemm(K_s, V_s, state, transpose_A=True)
    return O


def reference(q, k, v, decay):
    out = np.empty_like(v)
    state = np.zeros((*q.shape[:2], q.shape[3], v.shape[3]))
    for t in range(q.shape[2]):
        state = state * 2 ** decay[:, None, None] + k[:, :, t, :, None] * v[:, :, t, None, :]
        out[:, :, t] = (q[:, :, t, None] @ state)[:, :, 0]
    return out


def case(B, heads, S, dim, dim_v, **more):
    def inputs(rng):
        q, k = (normal(rng, B, heads, S, dim) / dim**0.25 for _ in range(2))
        v = normal(rng, B, heads, S, dim_v)
        decay = np.log2(1 - 2.0 ** -(4 + np.arange(heads))).astype(np.float32)
        return *(a.astype(np.float16) for a in (q, k, v)), decay

    return Case(
        kernel=linear_attention,
        inputs=inputs,
        reference=reference,
        # An output sums about min(S, 16 * 2^heads) terms of size 1, each rounded to float16 a few
        # times on the way, independently.
        rtol=unit(np.float16),
        atol=8 * math.sqrt(min(S, 2 ** (4 + heads))) * unit(np.float16) / 2,
        tiles={"gfx1100": {"chunk": 32, "block_V": 32}},
        name=f"{B}x{heads}x{S}, {dim} to {dim_v}",
        **more,
    )


CASES = [case(1, 2, 200, 64, 64), case(1, 1, 77, 32, 96, emulate=False)]

if __name__ == "__main__":
    main(CASES)
