"""The gated delta rule in chunks: a state that forgets, and that corrects itself.

S_t = g_t S_(t-1) + k_t u_t with u_t = b_t (v_t - g_t k_t S_(t-1)): before a value is stored under
its key, what the state says of that key is taken away. In a chunk the corrections depend on
earlier ones through a triangular system, (1 + A) U = R, solved by substitution, a column at a
time; the rest is products. Sums of gates' logarithms keep ratios of their products exact.
"""

import numpy as np
from _run import Case, main, normal, sum_error

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def gated_delta(  # noqa: C901 -- loops over elements are steps, not branches
    Q, K, V, gate, beta, chunk=32, block_V=32
):
    """O [B, heads, S, dim_v]; gate [B, heads, S] is the logarithm of g, beta [B, heads, S] is b."""
    B, heads, S, dim, dim_v = T.const("B, heads, S, dim, dim_v")
    Q: T.Tensor((B, heads, S, dim), T.float32)
    K: T.Tensor((B, heads, S, dim), T.float32)
    V: T.Tensor((B, heads, S, dim_v), T.float32)
    gate: T.Tensor((B, heads, S), T.float32)
    beta: T.Tensor((B, heads, S), T.float32)
    O = T.empty((B, heads, S, dim_v), T.float32)
    with T.Kernel(T.ceildiv(dim_v, block_V), heads, B, threads=128) as (bv, h, b):
        Q_s, K_s = (T.alloc_shared((chunk, dim), T.float32) for _ in range(2))
        U = T.alloc_shared((chunk, block_V), T.float32)
        A = T.alloc_shared((chunk, chunk), T.float32)
        state_s = T.alloc_shared((dim, block_V), T.float32)
        g, sums, b_s = (T.alloc_shared((chunk,), T.float32) for _ in range(3))
        score = T.alloc_fragment((chunk, chunk), T.float32)
        read, out = (T.alloc_fragment((chunk, block_V), T.float32) for _ in range(2))
        state = T.alloc_fragment((dim, block_V), T.float32)
        T.clear(state)
        for c in T.serial(T.ceildiv(S, chunk)):
            T.copy(Q[b, h, c * chunk, 0], Q_s)
            T.copy(K[b, h, c * chunk, 0], K_s)
            T.copy(V[b, h, c * chunk, bv * block_V], U)
            T.copy(gate[b, h, c * chunk], g)
            T.copy(beta[b, h, c * chunk], b_s)
            T.cumsum(g, sums, dim=0)
            T.copy(state, state_s)
            T.gemm(K_s, state_s, read, clear_accum=True)
            for i, d in T.Parallel(chunk, block_V):
                U[i, d] = b_s[i] * (U[i, d] - T.exp(sums[i]) * read[i, d])
            T.gemm(K_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                ratio = T.exp(sums[i] - sums[j])
                A[i, j] = T.if_then_else(j < i, b_s[i] * ratio * score[i, j], 0)
            for j in T.serial(chunk):
                for i, d in T.Parallel(chunk, block_V):
                    if i > j:
                        U[i, d] -= A[i, j] * U[j, d]
            T.gemm(Q_s, state_s, out, clear_accum=True)
            for i, d in T.Parallel(chunk, block_V):
                out[i, d] *= T.exp(sums[i])
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                A[i, j] = T.if_then_else(j <= i, T.exp(sums[i] - sums[j]) * score[i, j], 0)
            T.gemm(A, U, out)
            T.copy(out, O[b, h, c * chunk, bv * block_V])
            for i, d in T.Parallel(chunk, block_V):
                U[i, d] *= T.exp(sums[chunk - 1] - sums[i])
            for i, d in T.Parallel(dim, block_V):
                state[i, d] *= T.exp(sums[chunk - 1])
            T.gemm(K_s, U, state, transpose_A=True)
    return O


def reference(q, k, v, gate, beta):
    out = np.empty_like(v)
    state = np.zeros((*q.shape[:2], q.shape[3], v.shape[3]))
    for t in range(q.shape[2]):
        state = state * np.exp(gate[:, :, t, None, None])
        key = k[:, :, t, None]
        u = beta[:, :, t, None, None] * (v[:, :, t, None] - key @ state)
        state = state + key.swapaxes(2, 3) * u
        out[:, :, t] = (q[:, :, t, None] @ state)[:, :, 0]
    return out


def case(B, heads, S, dim, dim_v):
    def inputs(rng):
        k = normal(rng, B, heads, S, dim)
        k /= np.linalg.norm(k, axis=-1, keepdims=True)
        q = normal(rng, B, heads, S, dim) / dim**0.5
        gate = np.log(rng.uniform(0.8, 1, (B, heads, S))).astype(np.float32)
        beta = rng.uniform(0.1, 1, (B, heads, S)).astype(np.float32)
        return q.astype(np.float32), k, normal(rng, B, heads, S, dim_v), gate, beta

    return Case(
        kernel=gated_delta,
        inputs=inputs,
        reference=reference,
        atol=sum_error(dim),  # and shorter sums of a chunk, of keys of length 1
        tiles={"gfx1100": {"block_V": 16}, "apple9": {"block_V": 16}},
        name=f"{B}x{heads}x{S}, {dim} to {dim_v}",
    )


CASES = [case(1, 2, 77, 64, 48)]

if __name__ == "__main__":
    main(CASES)
