"""One new token per sequence against keys in pages: decoding, with the keys split among blocks.

A table says which page holds which stretch of a sequence's keys. All query heads of a key head
make one tile, so that matrix units have rows to work on. Blocks take parts of the pages each and
leave outputs with logarithms of sums, which a second kernel combines.

Where the kernel in front wrote neither pages nor their table (new keys were put there before it),
`early` asks for the first pages before it has ended.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@T.macro
def weigh(score, weight, out, top, total, scale, first, length):
    """Weights of a step's keys, the `first` of which is that many into its sequence; what was added
    up so far is scaled to the new maximum."""
    rows, step = score.shape
    before, alpha, row = (T.alloc_fragment((rows,), T.float32) for _ in range(3))
    for i, j in T.Parallel(rows, step):
        seen = first + j < length
        score[i, j] = T.if_then_else(seen, score[i, j] * scale, -T.infinity(T.float32))
    T.copy(top, before)
    T.reduce_max(score, top, dim=1, clear=False)
    for i in T.Parallel(rows):
        alpha[i] = T.exp2(before[i] - top[i])
    for i, j in T.Parallel(rows, step):
        score[i, j] = T.exp2(score[i, j] - top[i])
    T.reduce_sum(score, row, dim=1)
    for i in T.Parallel(rows):
        total[i] = total[i] * alpha[i] + row[i]
    for i, d in T.Parallel(*out.shape):
        out[i, d] *= alpha[i]
    T.copy(score, weight)


@T.macro
def finish(out, top, total, group, O, partial, lse, b, g, part):
    """What the `group` query heads of key head `g` have: the result, or a part of it with the
    logarithm of its sum."""
    rows, dim = out.shape
    for i, d in T.Parallel(rows, dim):
        out[i, d] /= T.max(total[i], 1e-30)
    if partial.shape[2] == 1:
        for i, d in T.Parallel(rows, dim):
            if i < group:
                O[b, g * group + i, d] = out[i, d]
    else:
        for i, d in T.Parallel(rows, dim):
            if i < group:
                partial[b, g * group + i, part, d] = out[i, d]
        for i in T.Parallel(rows):
            if i < group:
                lse[b, g * group + i, part] = top[i] + T.log2(T.max(total[i], 1e-30))


@T.macro
def combine(partial, lse, O, threads):
    """The parts' outputs, each by its share of the weights."""
    B, heads, splits, dim = partial.shape
    with T.Kernel(heads, B, threads=threads) as (h, b):
        T.annotate_dependent_launch()
        o = T.alloc_fragment((splits, dim), T.float32)
        share = T.alloc_fragment((splits,), T.float32)
        top, total = (T.alloc_fragment((1,), T.float32) for _ in range(2))
        sum_of = T.alloc_fragment((dim,), T.float32)
        T.copy(lse[b, h, 0], share)
        T.copy(partial[b, h, 0, 0], o)
        T.reduce_max(share, top, dim=0)
        for s in T.Parallel(splits):
            share[s] = T.exp2(share[s] - top[0])
        T.reduce_sum(share, total, dim=0)
        for s, d in T.Parallel(splits, dim):
            o[s, d] *= share[s] / total[0]
        T.reduce_sum(o, sum_of, dim=0)
        T.copy(sum_of, O[b, h, 0])


@tile.jit
def flash_decoding(
    Q,
    K,
    V,
    table,
    lengths,
    splits,
    dtype=T.float16,
    rows=16,
    step=0,
    stages=2,
    threads=128,
    early=False,
):
    """O [B, heads, dim] of pages K, V [pages, page, kv_heads, dim] that `table` [B, most] names,
    by steps of `step` keys, a part of a page or 0 for a whole one."""
    B, heads, dim, pages, page, kv_heads, most = T.const(
        "B, heads, dim, pages, page, kv_heads, most"
    )
    Q: T.Tensor((B, heads, dim), dtype)
    K: T.Tensor((pages, page, kv_heads, dim), dtype)
    V: T.Tensor((pages, page, kv_heads, dim), dtype)
    table: T.Tensor((B, most), T.int32)
    lengths: T.Tensor((B,), T.int32)
    O = T.empty((B, heads, dim), dtype)
    partial = T.alloc_global((B, heads, splits, dim), T.float32)
    lse = T.alloc_global((B, heads, splits), T.float32)
    scale = math.log2(math.e) / math.sqrt(dim)
    group = heads // kv_heads
    step = step or page
    assert page % step == 0, "steps are whole parts of a page"
    per_page = page // step
    # Blocks of one stretch follow each other: a page has its key heads side by side.
    with T.Kernel(kv_heads, splits, B, threads=threads) as (g, part, b):
        if splits > 1:  # both kernels or none: of two kinds in turn they took longer
            T.annotate_dependent_launch(*((K, V, table, lengths) if early else ()))
        Q_s = T.alloc_shared((rows, dim), dtype)
        K_s = T.alloc_shared((step, dim), dtype)
        V_s = T.alloc_shared((step, dim), dtype)
        score = T.alloc_fragment((rows, step), T.float32)
        weight = T.alloc_fragment((rows, step), dtype)
        out = T.alloc_fragment((rows, dim), T.float32)
        top, total = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        T.copy(Q[b, g * group, 0], Q_s)
        T.clear(out)
        T.clear(total)
        T.fill(top, -1e30)  # finite: a part without keys has no maximum
        used = T.ceildiv(lengths[b], step)
        each = T.ceildiv(used, splits)
        for n in T.Pipelined(part * each, T.min(used, (part + 1) * each), num_stages=stages):
            where, at = table[b, n // per_page], n % per_page * step
            T.copy(K[where, at : at + step, g, :], K_s)
            T.gemm(Q_s, K_s, score, transpose_B=True, clear_accum=True)
            weigh(score, weight, out, top, total, scale, n * step, lengths[b])
            T.copy(V[where, at : at + step, g, :], V_s)
            T.gemm(weight, V_s, out)
        finish(out, top, total, group, O, partial, lse, b, g, part)
    if splits == 1:
        return O
    combine(partial, lse, O, threads)
    return O


def reference(q, k, v, table, lengths):
    out = np.empty_like(q)
    for b, length in enumerate(lengths):
        group = q.shape[1] // k.shape[2]
        key, value = (a[table[b]].reshape(-1, *a.shape[2:])[:length] for a in (k, v))
        key, value = (np.repeat(a, group, axis=1) for a in (key, value))
        score = np.einsum("hd,jhd->hj", q[b], key) / math.sqrt(q.shape[-1])
        weight = np.exp(score - score.max(axis=-1, keepdims=True))
        out[b] = np.einsum("hj,jhd->hd", weight / weight.sum(axis=-1, keepdims=True), value)
    return out


def case(lengths, heads, kv_heads, dim, page, splits, step=0, early=False, **more):
    most = -(-max(lengths) // page)
    pages = most * len(lengths) + 3

    def inputs(rng):
        kv = (normal(rng, pages, page, kv_heads, dim, dtype=np.float16) for _ in range(2))
        table = rng.permutation(pages)[: most * len(lengths)].reshape(len(lengths), most)
        q = normal(rng, len(lengths), heads, dim, dtype=np.float16)
        return q, *kv, table.astype(np.int32), np.array(lengths, np.int32)

    return Case(
        kernel=flash_decoding,
        inputs=inputs,
        reference=reference,
        options={"splits": splits, "step": step, "early": early},
        # Weights and output are rounded to float16; values are within 4.
        rtol=unit(np.float16),
        atol=4 * unit(np.float16) / 2,
        name=f"{lengths} keys, {heads} heads of {kv_heads}x{dim}, {splits} parts",
        **more,
    )


CASES = [
    case((200, 1, 77), 8, 2, 64, 32, 3),
    case((300,), 4, 1, 128, 32, 4, emulate=False),
    case((100, 70), 4, 2, 64, 64, 2, step=32, early=True),
]

if __name__ == "__main__":
    main(CASES)
