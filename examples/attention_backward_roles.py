"""The gradients of attention, scheduled by hand: five products a tile and two groups out of step.

As `attention_backward.py`, for devices whose blocks have counting barriers. Two groups of 128
threads hold half of the keys each, and a third one copies. Gradients of scores go through shared
memory, for those of queries are sums over the keys of both groups; they are multiplied one tile
later, so no group waits for the other one. The second group begins half a tile after the first one:
the exponentials of one run under the products of the other. A thread adds its part of the gradients
of queries to memory in the order in which its registers hold it; the last kernel sorts that.
"""

import math

from _run import Case, main, normal, unit
from attention_backward import reference, weights
from mla_decode_roles import GROUP, arrive, bring

import tile_frontend as tile
import tile_frontend.language as T

BLOCK = 128
"""Keys of a block of threads, half of them for each group."""


def place(at, i, d):
    """Where the gradient of row i and column d of the 64 x 64 at `at` lies: by register of four,
    then thread, then the thread's four, as a matrix unit deals its results out."""
    return *at, d // 8, i // 16, i % 8, d % 8 // 2, i // 8 % 2 * 2 + d % 2


@T.macro
def prepared(O, dO, delta, sums):
    """Sums over rows of O * dO, and zeros to add to."""
    B, heads, S, dim = O.shape
    with T.Kernel(T.ceildiv(S, BLOCK), heads, B, threads=2 * GROUP) as (m, h, b):
        o, do = (T.alloc_fragment((BLOCK, dim), T.float32) for _ in range(2))
        row = T.alloc_fragment((BLOCK,), T.float32)
        T.copy(O[b, h, m * BLOCK, 0], o)
        T.copy(dO[b, h, m * BLOCK, 0], do)
        for i, d in T.Parallel(BLOCK, dim):
            o[i, d] *= do[i, d]
        T.reduce_sum(o, row, dim=1)
        T.copy(row, delta[b, h, m * BLOCK])
        T.fill(sums[b, h, m, :, :, :, :, :, :, :], 0)


@T.macro
def finished(sums, dQ, scale, step):
    """Gradients of queries in order."""
    B, heads, S, dim = dQ.shape
    with T.Kernel(T.ceildiv(S, BLOCK), heads, B, threads=2 * GROUP) as (m, h, b):
        sums_s = T.alloc_shared(sums.shape[3:], T.float32)
        dq = T.alloc_fragment((BLOCK, dim), dQ.dtype)
        T.copy(sums[b, h, m, :, :, :, :, :, :, :], sums_s)
        for i, d in T.Parallel(BLOCK, dim):
            group = i % step // 64 if step > 64 else d // 64
            dq[i, d] = scale * sums_s[place((i // step, group), i % 64, d % 64)]
        T.copy(dq, dQ[b, h, m * BLOCK, 0])


@T.macro
def add(dq, sums, b, h, tile, group):
    """A group's 64 x 64 gradients of a tile of queries, each thread's four neighbours together."""
    per = sums.shape[3]
    T.assume(tile // per < sums.shape[2])
    for i, d in T.Parallel(64, 64):
        T.atomic_add(sums[place((b, h, tile // per, tile % per, group), i, d)], dq[i, d])


@T.macro
def rows_of(src, vector, src_s, vector_s, full, b, h, at, slot):
    """Bring a tile of queries or of their gradients, and a number for each row."""
    if T.shuffle_elect(GROUP):
        T.tma_copy(src[b, h, at, 0], src_s[slot, :, :], barrier=full[slot])
        T.tma_copy(vector[b, h, at], vector_s[slot, :], barrier=full[slot])
        T.barrier_arrive(full[slot])


@T.macro
def scores(a, b, c):
    T.wgmma_gemm(a, b, c, transpose_B=True, clear_accum=True)


@T.macro
def exponentials(s, p, row, lse, scale, key, query, causal, S):
    """Weights of the scores of keys from `key` on and queries from `query` on."""
    keys, step = s.shape
    T.copy(lse, row)
    if causal and query < key // BLOCK * BLOCK + BLOCK:
        for j, i in T.Parallel(keys, step):
            s[j, i] = T.if_then_else(query + i >= key + j, s[j, i], -T.infinity(T.float32))
    if S % BLOCK:  # keys past the end count for nothing; queries there are zeros
        for j, i in T.Parallel(keys, step):
            s[j, i] = T.if_then_else(key + j < S, s[j, i], -T.infinity(T.float32))
    for j, i in T.Parallel(keys, step):
        p[j, i] = T.exp2(s[j, i] * (scale * math.log2(math.e)) - row[i])


@tile.jit
def attention_backward_roles(Q, K, V, O, dO, lse, causal, step=64, lean=False, early=True):
    """dQ, dK and dV [B, heads, S, dim]; lse [B, heads, S] is to base 2, of the scaled scores.

    `step` queries at a time, 64 for heads of 128 and 128 for those of 64. Gradients of scores are
    read from shared memory twice if `lean`. `early`: sums are on the way under products.
    """
    dtype = T.float16
    shape = B, heads, S, dim = T.const("B, heads, S, dim")
    Q: T.Tensor((B, heads, S, dim), dtype)
    K: T.Tensor((B, heads, S, dim), dtype)
    V: T.Tensor((B, heads, S, dim), dtype)
    O: T.Tensor((B, heads, S, dim), dtype)
    dO: T.Tensor((B, heads, S, dim), dtype)
    lse: T.Tensor((B, heads, S), T.float32)
    dQ, dK, dV = T.empty(shape, dtype), T.empty(shape, dtype), T.empty(shape, dtype)
    delta = T.alloc_global((B, heads, S), T.float32)
    blocks, scale = T.ceildiv(S, BLOCK), 1 / math.sqrt(dim)
    sums = T.alloc_global((B, heads, blocks, BLOCK // step, 2, 8, 4, 8, 4, 4), T.float32)
    prepared(O, dO, delta, sums)
    with T.Kernel(blocks, heads, B, threads=3 * GROUP) as (n, h, b):
        K_s, V_s = T.alloc_shared((BLOCK, dim), dtype), T.alloc_shared((BLOCK, dim), dtype)
        Q_s, dO_s = T.alloc_shared((3, step, dim), dtype), T.alloc_shared((2, step, dim), dtype)
        ds_s = T.alloc_shared((3, BLOCK, step), dtype)
        lse_s, delta_s = T.alloc_shared((3, step), T.float32), T.alloc_shared((2, step), T.float32)
        k_full, v_full, ahead = T.alloc_barrier(1), T.alloc_barrier(1), T.alloc_barrier(1)
        q_full, q_empty, ds_full = (T.alloc_barrier([x] * 3) for x in (1, 2, 2))
        do_full, do_empty = T.alloc_barrier([1] * 2), T.alloc_barrier([2] * 2)
        first = n * BLOCK // step if causal else 0
        trips = T.ceildiv(S, step) - first
        done = T.alloc_var(T.int32, init=0)
        with T.ws(2):
            T.dec_max_nreg(24)
            bring(K[b, h, n * BLOCK, 0], K_s, k_full)
            rows_of(Q, lse, Q_s, lse_s, q_full, b, h, first * step, 0)
            bring(V[b, h, n * BLOCK, 0], V_s, v_full)
            for m in T.serial(trips):  # and one tile more, whose scores nobody uses
                T.barrier_wait(do_empty[m % 2], (m // 2 + 1) % 2)
                rows_of(dO, delta, dO_s, delta_s, do_full, b, h, (first + m) * step, m % 2)
                T.barrier_wait(q_empty[(m + 1) % 3], ((m + 1) // 3 + 1) % 2)
                rows_of(Q, lse, Q_s, lse_s, q_full, b, h, (first + m + 1) * step, (m + 1) % 3)
        for me in range(2):
            with T.ws(me):
                T.inc_max_nreg(240)
                s, dp = (T.alloc_fragment((64, step), T.float32) for _ in range(2))
                p, ds = (T.alloc_fragment((64, step), dtype) for _ in range(2))
                dk, dv = (T.alloc_fragment((64, dim), T.float32) for _ in range(2))
                dq, row = T.alloc_fragment((64, 64), T.float32), T.alloc_fragment(step, T.float32)
                mine, key = slice(me * 64, me * 64 + 64), n * BLOCK + me * 64
                # Of the gradients of queries a group has 64 queries, or 64 columns.
                rows, columns = (mine, slice(0, 64)) if step > 64 else (slice(0, 64), mine)
                T.clear(dk)
                T.clear(dv)
                T.fill(ds_s[0, mine, :], 0)  # of the tile before the first one
                arrive(ds_full[0])
                T.barrier_wait(k_full, 0)
                T.barrier_wait(q_full[0], 0)
                if me == 1:
                    T.barrier_wait(ahead, 0)
                scores(K_s[mine, :], Q_s[0, :, :], s)
                T.wait_wgmma(0)
                exponentials(s, p, row, lse_s[0, :], scale, key, first * step, causal, S)
                if me == 0:
                    arrive(ahead)
                T.barrier_wait(v_full, 0)
                for m in T.serial(trips):
                    q, o, new = m % 3, m % 2, (m + 1) % 3
                    T.barrier_wait(do_full[o], m // 2 % 2)
                    T.barrier_wait(ds_full[q], m // 3 % 2)
                    scores(V_s[mine, :], dO_s[o, :, :], dp)
                    T.wgmma_gemm(p, dO_s[o, :, :], dv)
                    T.wait_wgmma(1)
                    for j, i in T.Parallel(64, step):
                        ds[j, i] = p[j, i] * (dp[j, i] - delta_s[o, i])
                    T.copy(ds, ds_s[new, mine, :])
                    arrive(ds_full[new])
                    late = ds_s[q, :, rows]
                    T.wgmma_gemm(late, K_s[:, columns], dq, transpose_A=True, clear_accum=True)
                    T.wgmma_gemm(ds_s[new, mine, :] if lean else ds, Q_s[q, :, :], dk)
                    T.wait_wgmma(2)
                    arrive(do_empty[o])
                    T.barrier_wait(q_full[new], (m + 1) // 3 % 2)
                    scores(K_s[mine, :], Q_s[new, :, :], s)
                    if early:
                        T.wait_wgmma(2)
                        add(dq, sums, b, h, first + T.max(m - 1, 0), me)
                    T.wait_wgmma(0)
                    arrive(q_empty[q])
                    at = (first + m + 1) * step
                    exponentials(s, p, row, lse_s[new, :], scale, key, at, causal, S)
                    if not early:
                        add(dq, sums, b, h, first + T.max(m - 1, 0), me)
                    done = m + 1
                T.barrier_wait(ds_full[done % 3], done // 3 % 2)
                last = ds_s[done % 3, :, rows]
                T.wgmma_gemm(last, K_s[:, columns], dq, transpose_A=True, clear_accum=True)
                T.wait_wgmma(0)
                add(dq, sums, b, h, T.ceildiv(S, step) - 1, me)
                for j, d in T.Parallel(64, dim):
                    dk[j, d] *= scale
                T.copy(dk, dK[b, h, key, 0])
                T.copy(dv, dV[b, h, key, 0])
    finished(sums, dQ, scale, step)
    return dQ, dK, dV


def case(B, heads, S, dim, causal, emulate=True, **options):
    def inputs(rng):
        q, k, v, do = (normal(rng, B, heads, S, dim, dtype="float16") for _ in range(4))
        p, lse = weights(q.astype("float64"), k.astype("float64"), causal)
        return q, k, v, (p @ v).astype("float16"), do, lse.astype("float32")

    return Case(
        kernel=attention_backward_roles,
        inputs=inputs,
        reference=lambda q, k, v, o, do, lse: reference(q, k, v, do, causal),
        options={"causal": causal, **options},
        only=("sm_90a",),
        emulate=emulate,
        # As in attention_backward.py.
        rtol=unit("float16"),
        atol=4 * math.sqrt(dim) * unit("float16") / 2,
        name=f"{B}x{heads}x{S}x{dim}{', causal' * causal}",
    )


CASES = [
    case(1, 1, 132, 64, True, step=128, lean=True),
    case(1, 1, 200, 128, False, early=False, emulate=False),
]

if __name__ == "__main__":
    main(CASES)
