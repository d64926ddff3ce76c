"""The gradients of attention in one kernel that computes the scores anew: five products a tile.

Forward left outputs and logarithms of sums, so a tile of weights is one product and one
exponential. A block of threads holds keys and runs over queries, with all tiles transposed so that
weights are the left operands as they come. Gradients of keys and values stay in its registers;
those of queries are sums over all blocks, formed in float32 in memory and rounded in the end.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@T.macro
def row_products(O, dO, delta, b, h, first, block):
    """Sums over rows of O * dO, of `block` rows from `first` on."""
    dim = O.shape[3]
    o, do = (T.alloc_fragment((block, dim), T.float32) for _ in range(2))
    row = T.alloc_fragment((block,), T.float32)
    T.copy(O[b, h, first, 0], o)
    T.copy(dO[b, h, first, 0], do)
    for i, d in T.Parallel(block, dim):
        o[i, d] *= do[i, d]
    T.reduce_sum(o, row, dim=1)
    T.copy(row, delta[b, h, first])


@T.macro
def prepared(O, dO, delta, sums, block, threads):
    """Sums over rows of O * dO, and zeros to add to."""
    B, heads, S, dim = O.shape
    with T.Kernel(T.ceildiv(S, block), heads, B, threads=threads) as (m, h, b):
        row_products(O, dO, delta, b, h, m * block, block)
        T.fill(sums[b, h, m * block : (m + 1) * block, 0:dim], 0)


@T.macro
def rounded(sums, dQ, scale, block, threads):
    """Gradients of queries."""
    B, heads, S, dim = dQ.shape
    with T.Kernel(T.ceildiv(S, block), heads, B, threads=threads) as (m, h, b):
        dq = T.alloc_fragment((block, dim), T.float32)
        T.copy(sums[b, h, m * block, 0], dq)
        for i, d in T.Parallel(block, dim):
            dq[i, d] *= scale
        T.copy(dq, dQ[b, h, m * block, 0])


@tile.jit
def attention_backward(
    Q,
    K,
    V,
    O,
    dO,
    lse,
    causal,
    dtype=T.float16,
    block=64,
    step=64,
    lean=False,
    stages=2,
    threads=128,
):
    """dQ, dK and dV [B, heads, S, dim]; lse [B, heads, S] is to base 2, of the scaled scores.

    A block of threads holds `block` keys and runs over queries in tiles of `step`. Two products
    read the gradients of scores: `lean` both from shared memory, else one from registers.
    """
    shape = B, heads, S, dim = T.const("B, heads, S, dim")
    Q: T.Tensor((B, heads, S, dim), dtype)
    K: T.Tensor((B, heads, S, dim), dtype)
    V: T.Tensor((B, heads, S, dim), dtype)
    O: T.Tensor((B, heads, S, dim), dtype)
    dO: T.Tensor((B, heads, S, dim), dtype)
    lse: T.Tensor((B, heads, S), T.float32)
    dQ, dK, dV = T.empty(shape, dtype), T.empty(shape, dtype), T.empty(shape, dtype)
    delta = T.alloc_global((B, heads, S), T.float32)
    sums = T.alloc_global((B, heads, S, dim), T.float32)
    scale = 1 / math.sqrt(dim)
    scale_2 = scale * math.log2(math.e)
    prepared(O, dO, delta, sums, block, threads)
    with T.Kernel(T.ceildiv(S, block), heads, B, threads=threads) as (n, h, b):
        Q_s, dO_s = (T.alloc_shared((step, dim), dtype) for _ in range(2))
        K_s, V_s = (T.alloc_shared((block, dim), dtype) for _ in range(2))
        ds_s = T.alloc_shared((block, step), dtype)
        lse_s, delta_s = (T.alloc_shared((step,), T.float32) for _ in range(2))
        p, dp = (T.alloc_fragment((block, step), T.float32) for _ in range(2))
        p_16, ds = (T.alloc_fragment((block, step), dtype) for _ in range(2))
        dk, dv = (T.alloc_fragment((block, dim), T.float32) for _ in range(2))
        dq = T.alloc_fragment((step, dim), T.float32)
        T.copy(K[b, h, n * block, 0], K_s)
        T.copy(V[b, h, n * block, 0], V_s)
        T.clear(dk)
        T.clear(dv)
        first = n * block // step if causal else 0
        for m in T.Pipelined(first, T.ceildiv(S, step), num_stages=stages):
            T.copy(Q[b, h, m * step, 0], Q_s)
            T.copy(dO[b, h, m * step, 0], dO_s)
            T.copy(lse[b, h, m * step], lse_s)
            T.copy(delta[b, h, m * step], delta_s)
            T.gemm(K_s, Q_s, p, transpose_B=True, clear_accum=True)
            T.gemm(V_s, dO_s, dp, transpose_B=True, clear_accum=True)
            for j, i in T.Parallel(block, step):
                query, earliest = m * step + i, n * block + j if causal else 0
                seen = query >= earliest and query < S and n * block + j < S
                p_16[j, i] = T.if_then_else(seen, T.exp2(p[j, i] * scale_2 - lse_s[i]), 0)
            T.gemm(p_16, dO_s, dv)
            for j, i in T.Parallel(block, step):
                ds[j, i] = p_16[j, i] * (dp[j, i] - delta_s[i])
            T.copy(ds, ds_s)
            T.gemm(ds_s if lean else ds, Q_s, dk)
            T.gemm(ds_s, K_s, dq, transpose_A=True, clear_accum=True)
            T.atomic_add(sums[b, h, m * step, 0], dq)
        for j, d in T.Parallel(block, dim):
            dk[j, d] *= scale
        T.copy(dk, dK[b, h, n * block, 0])
        T.copy(dv, dV[b, h, n * block, 0])
    rounded(sums, dQ, scale, block, threads)
    return dQ, dK, dV


def weights(q, k, causal):
    score = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
    if causal:
        score = np.where(np.tri(*score.shape[2:]) > 0, score, -np.inf)
    top = score.max(axis=-1, keepdims=True)
    lse = top + np.log(np.exp(score - top).sum(axis=-1, keepdims=True))
    return np.exp(score - lse), lse[..., 0] * math.log2(math.e)


def reference(q, k, v, do, causal):
    p, _ = weights(q, k, causal)
    dp = do @ v.swapaxes(2, 3)
    ds = p * (dp - (do * (p @ v)).sum(axis=-1, keepdims=True)) / math.sqrt(q.shape[-1])
    return ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ do


def case(B, heads, S, dim, causal, tiles, **more):
    def inputs(rng):
        q, k, v, do = (normal(rng, B, heads, S, dim, dtype=np.float16) for _ in range(4))
        p, lse = weights(q.astype(np.float64), k.astype(np.float64), causal)
        return q, k, v, (p @ v).astype(np.float16), do, lse.astype(np.float32)

    return Case(
        kernel=attention_backward,
        inputs=inputs,
        reference=lambda q, k, v, o, do, lse: reference(q, k, v, do, causal),
        options={"causal": causal},
        tiles=tiles,
        # dS and O are rounded to float16 where they are about sqrt(dim); a weighted sum of normal
        # numbers with weights that sum to one at most stays below four times that error.
        rtol=unit(np.float16),
        atol=4 * math.sqrt(dim) * unit(np.float16) / 2,
        name=f"{B}x{heads}x{S}x{dim}{', causal' * causal}",
        **more,
    )


def tiles(block, step, threads=128):
    return {"block": block, "step": step, "threads": threads}


WIDE = {
    "sm_90a": tiles(128, 64, 256),
    "sm_120": tiles(64, 32),
    "gfx942": tiles(32, 32),
    "gfx1100": tiles(32, 16, 256),
    "apple9": tiles(16, 32),
}
"""Tiles of heads of 128, which take twice the room of those of 64."""

CASES = [
    case(1, 2, 100, 64, True, {"gfx1100": tiles(32, 32, 256), "apple9": tiles(32, 32)}),
    case(1, 1, 65, 128, False, WIDE, emulate=False),
]

if __name__ == "__main__":
    main(CASES)
