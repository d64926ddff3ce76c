"""Decoding with latent attention, scheduled by hand: who copies, who computes, who waits for whom.

As `mla_decode.py`, for devices whose blocks have counting barriers. Two groups of 128 threads go
over two blocks of keys at once. A group makes the scores of its own block, so each product is as
wide as shared memory can feed; of the output it holds one half, and so needs the weights of both
blocks. It gets the other ones through shared memory, with the running maximum, which goes from
group to group: the first one's softmax runs under the second one's products, and the other way
round. The third group copies; a block comes in two halves, each given back by who reads it last.
"""

import math
from functools import partial

from _run import Case, main, normal, unit
from mla_decode import reference

import tile_frontend as tile
import tile_frontend.language as T

GROUP = 128
"""Threads of a group, which do one role."""


@T.macro
def arrive(barrier):
    """One arrival for all of the group, once all of it is there."""
    if T.shuffle_elect(GROUP):
        T.barrier_arrive(barrier)


@T.macro
def bring(src, dst, barrier):
    """Start a copy of what is read once, whose bytes end the barrier's phase."""
    if T.shuffle_elect(GROUP):
        T.tma_copy(src, dst, barrier=barrier, eviction_policy="evict_first")
        T.barrier_arrive(barrier)


@T.macro
def rescale(factor, out, total):
    for i, d in T.Parallel(*out.shape):
        out[i, d] *= factor[i]
    for i in T.Parallel(out.shape[0]):
        total[i] *= factor[i]


@T.macro
def raised(top, before, factor, log_scale):
    """What corrects sums when the maximum of rows went from `before` to `top`."""
    for i in T.Parallel(top.shape[0]):
        factor[i] = T.exp2((before[i] - top[i]) * log_scale)


@T.macro
def copies(KV, K_pos, KV_s, Kp_s, full, empty, pos_full, pos_empty, b, steps):
    """All keys of a sequence in order, each part as soon as its place is free."""
    block, half = KV_s.shape[1:]
    for n in T.serial(steps):
        for k in range(2):
            at = (2 * n + k) * block
            T.barrier_wait(pos_empty[k], (n + 1) % 2)
            bring(K_pos[b, at, 0], Kp_s[k, :, :], pos_full[k])
            for h in (k, 1 - k):
                T.barrier_wait(empty[2 * k + h], (n + 1) % 2)
                bring(KV[b, at, h * half], KV_s[2 * k + h, :, :], full[2 * k + h])


@T.macro
def scores(Q_s, Qp, KV_s, Kp_s, score, full, pos_full, me, phase):
    """Start the products of the queries with my block of keys; the half that is mine comes first
    and leaves first."""
    half = KV_s.shape[2]
    T.barrier_wait(pos_full[me], phase)
    T.wgmma_gemm(Qp, Kp_s[me, :, :], score, transpose_B=True, clear_accum=True)
    for h in (me, 1 - me):
        T.barrier_wait(full[2 * me + h], phase)
        part = Q_s[:, h * half : (h + 1) * half]
        T.wgmma_gemm(part, KV_s[2 * me + h, :, :], score, transpose_B=True)


@T.macro
def follow(tops, me, top, factor, log_scale):
    """The maximum that the other group went on to, and what corrects sums for it."""
    before = T.alloc_fragment(top.shape, T.float32)
    T.copy(top, before)
    T.copy(tops[1 - me, :], top)
    raised(top, before, factor, log_scale)


@T.macro
def softmax(score, top, part, factor, log_scale, left):
    """Weights of the keys that are `left`, in place, and their sums; `top` is the new maximum."""
    before = T.alloc_fragment(top.shape, T.float32)
    for i, j in T.Parallel(*score.shape):
        score[i, j] = T.if_then_else(j < left, score[i, j], -T.infinity(T.float32))
    T.copy(top, before)
    T.reduce_max(score, top, dim=1, clear=False)
    raised(top, before, factor, log_scale)
    for i in T.Parallel(top.shape[0]):
        part[i] = top[i] * log_scale
    for i, j in T.Parallel(*score.shape):
        score[i, j] = T.exp2(score[i, j] * log_scale - part[i])


@tile.jit
def mla_decode_roles(Q, Q_pos, KV, K_pos, scale, dtype=T.float16, rows=64, block=64):
    """O [B, heads, latent] of Q, KV [B, S, latent] and their positional parts."""
    B, heads, latent, rope, S = T.const("B, heads, latent, rope, S")
    Q: T.Tensor((B, heads, latent), dtype)
    Q_pos: T.Tensor((B, heads, rope), dtype)
    KV: T.Tensor((B, S, latent), dtype)
    K_pos: T.Tensor((B, S, rope), dtype)
    O = T.empty((B, heads, latent), dtype)
    half, log_scale = latent // 2, scale * math.log2(math.e)
    steps = T.ceildiv(S, 2 * block)
    with T.Kernel(T.ceildiv(heads, rows), B, threads=3 * GROUP) as (hb, b):
        Q_s = T.alloc_shared((rows, latent), dtype)
        KV_s = T.alloc_shared((4, block, half), dtype)  # halves of the first block, of the second
        Kp_s = T.alloc_shared((2, block, rope), dtype)
        weight = T.alloc_shared((rows, block), dtype), T.alloc_shared((rows, block), dtype)
        tops, totals = (T.alloc_shared((2, rows), T.float32) for _ in range(2))
        q_full, turn = T.alloc_barrier(1), T.alloc_barrier(1)
        full, empty = T.alloc_barrier([1] * 4), T.alloc_barrier([1] * 4)
        pos_full, pos_empty = T.alloc_barrier([1] * 2), T.alloc_barrier([1] * 2)
        weighed, summed = T.alloc_barrier([1] * 2), T.alloc_barrier([1] * 2)
        with T.ws(2):
            T.dec_max_nreg(40)
            bring(Q[b, hb * rows, 0], Q_s, q_full)
            copies(KV, K_pos, KV_s, Kp_s, full, empty, pos_full, pos_empty, b, steps)
        for me in range(2):
            with T.ws(me):
                T.inc_max_nreg(232)
                Qp = T.alloc_fragment((rows, rope), dtype)
                score = T.alloc_fragment((rows, block), T.float32)
                mine = T.alloc_fragment((rows, block), dtype)
                out = T.alloc_fragment((rows, half), T.float32)
                top, factor, part, total = (T.alloc_fragment((rows,), T.float32) for _ in range(4))
                T.clear(out)
                T.clear(total)
                T.fill(top, -T.infinity(T.float32))
                T.copy(Q_pos[b, hb * rows, 0], Qp)
                T.barrier_wait(q_full, 0)
                for n in T.serial(steps):
                    phase = n % 2
                    if me == 1:  # behind the other group's products, which are waited for sooner
                        T.barrier_wait(turn, phase)
                    scores(Q_s, Qp, KV_s, Kp_s, score, full, pos_full, me, phase)
                    if me == 0:
                        arrive(turn)
                        T.wait_wgmma(0)
                    else:  # weights of the first block, whose keys come before mine
                        T.barrier_wait(weighed[0], phase)
                        follow(tops, me, top, factor, log_scale)
                        T.wait_wgmma(0)
                        rescale(factor, out, total)
                        T.wgmma_gemm(weight[0], KV_s[1, :, :], out)
                    arrive(pos_empty[me])
                    softmax(score, top, part, factor, log_scale, S - (2 * n + me) * block)
                    T.copy(score, mine)
                    T.copy(mine, weight[me])
                    T.copy(top, tops[me, :])
                    arrive(weighed[me])
                    if me == 1:
                        T.wait_wgmma(0)
                        arrive(empty[1])
                    rescale(factor, out, total)
                    T.reduce_sum(score, total, dim=1, clear=False)
                    T.wgmma_gemm(mine, KV_s[3 * me, :, :], out)
                    T.wait_wgmma(0)
                    arrive(empty[3 * me])
                    if me == 0:
                        T.barrier_wait(weighed[1], phase)
                        follow(tops, me, top, factor, log_scale)
                        rescale(factor, out, total)
                        T.wgmma_gemm(weight[1], KV_s[2, :, :], out)
                        T.wait_wgmma(0)
                        arrive(empty[2])
                T.copy(total, totals[me, :])
                arrive(summed[me])
                T.barrier_wait(summed[1 - me], 0)
                T.copy(totals[1 - me, :], part)
                for i in T.Parallel(rows):
                    factor[i] = 1.0 / (total[i] + part[i])
                rescale(factor, out, total)
                columns = slice(me * half, me * half + half)
                T.copy(out, Q_s[:, columns])  # nobody reads the queries any more
                T.tma_copy(Q_s[:, columns], O[b, hb * rows : hb * rows + rows, columns])
                T.tma_store_wait()
    return O


def case(B, heads, S, latent, rope):
    scale = 1 / math.sqrt(latent + rope)
    shapes = (B, heads, latent), (B, heads, rope), (B, S, latent), (B, S, rope)
    return Case(
        kernel=mla_decode_roles,
        inputs=lambda rng: tuple(normal(rng, *s, dtype="float16") for s in shapes),
        reference=partial(reference, scale=scale),
        options={"scale": scale},
        only=("sm_90a", "sm_100a", "sm_120"),
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit("float16"),
        atol=4 * unit("float16") / 2,
        name=f"{B} of {S} keys, {heads} heads of {latent}+{rope}",
    )


CASES = [case(1, 65, 150, 128, 32)]

if __name__ == "__main__":
    main(CASES)
