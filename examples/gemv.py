"""GEMV: a matrix times a vector is a sum along each row; the matrix is read once, nothing is
reused.

A block takes a few rows and walks along them. Each step adds to one partial sum for every column of
the step, and the columns are added up once, at the end. The second kernel does the same with 4-bit
weights, packed as for `gemm_w4a16`. They are multiplied as float16, two at a time, and so are sums
of four products; the rest is added up in float32.

Making floats of such weights is much work, so the third kernel leaves products and sums to the
matrix unit, although there is one vector only: groups of columns share a step. Those of a row lie
below each other, and each is multiplied by the parts of x of all of them. One of these products
counts, and is scaled as it is added; the others are free, since the unit has no narrower product.
Words go from memory straight to the registers that unpack them: to one of two sets, while the words
of the other are multiplied.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit
from gemm_w4a16 import (
    GROUP,
    WORD,
    floats,
    less_zero,
    packed,
    scale_of,
    unpack,
    word_of,
    zeros_of,
)

import tile_frontend as tile
import tile_frontend.language as T

SHARES = 4
"""Threads that share a group; each has words of it one behind the other."""
SHARE = GROUP // WORD // SHARES
PAIRS = 4
"""Pairs of a word, whose products are added up in float16."""
WORDS = GROUP // WORD
"""Words of a row's group."""
SETS = 2
"""Registers for words, filled by turns."""


@tile.jit
def gemv(W, x, dtype, rows=4, block=256):
    """y = W @ x."""
    N, K = T.const("N, K")
    W: T.Tensor((N, K), dtype)
    x: T.Tensor((K,), dtype)
    y = T.empty((N,), dtype)
    with T.Kernel(T.ceildiv(N, rows), threads=128) as b:
        products = T.alloc_fragment((rows, block), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.clear(products)
        for k in T.serial(T.ceildiv(K, block)):
            for i, j in T.Parallel(rows, block):
                weight = T.cast(W[b * rows + i, k * block + j], T.float32)
                products[i, j] += weight * T.cast(x[k * block + j], T.float32)
        T.reduce_sum(products, total, dim=1)
        T.copy(total, y[b * rows])
    return y


@tile.jit
def gemv_w4a16(W, facts, x, rows=4, block=1024, threads=128):
    """y = ((weights - zeros) * scales) @ x, W and facts as `pack` made them, W by shares.

    Numbers of x are below 1000: four of them times 15 are a float16.
    """
    N, G = T.const("N, G")
    W: T.Tensor((N, G * SHARES, SHARE), T.int32)
    facts: T.Tensor((G, N), T.int32)
    x: T.Tensor((G, GROUP), T.float16)
    y = T.empty((N,), T.float16)
    groups, shares = block // GROUP, block // GROUP * SHARES
    with T.Kernel(T.ceildiv(N, rows), threads=threads) as b:
        words = T.alloc_fragment((rows, shares, SHARE), T.int32)
        of_group = T.alloc_fragment((rows, shares), T.int32)
        sums = T.alloc_fragment((rows, shares, SHARE), T.float32)
        part = T.alloc_fragment((rows, shares), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.clear(sums)
        for k in T.serial(T.ceildiv(G, groups)):
            T.copy(W[b * rows, k * shares, 0], words)
            for i, s in T.Parallel(rows, shares):
                of_group[i, s] = facts[k * groups + s // SHARES, b * rows + i]
            for i, s, w in T.Parallel(rows, shares, SHARE):
                group = T.min(k * groups + s // SHARES, G - 1)  # behind the last weights are 0
                four = T.Broadcast(T.float16(0), 2)
                for q in range(PAIRS):
                    at, half = q // 2 * 8, q % 2
                    numbers = floats(T.cast(words[i, s, w], T.uint32) >> at, half)
                    weights = numbers - floats(zeros_of(of_group[i, s]) << half * 4, half)
                    pair = x[group, T.Ramp(w * 32 + q * 8 + s % SHARES * 2, 1, 2)]
                    four = T.fma2(weights, pair, four)
                even, odd = (T.cast(T.extract_lane(four, n), T.float32) for n in range(2))
                sums[i, s, w] += (even + odd) * T.cast(scale_of(of_group[i, s]), T.float32)
        T.reduce_sum(sums, part, dim=2)
        T.reduce_sum(part, total, dim=1)
        T.copy(total, y[b * rows])
    return y


@tile.jit
def gemv_w4a16_matrix(W, facts, x, rows=16, groups=8, threads=128, early=False):
    """y = ((weights - zeros) * scales) @ x, W and facts as `pack` made them.

    `early` asks for weights before the kernel in front has ended, which must not write them.
    """
    N, G = T.const("N, G")
    W: T.Tensor((N, G * WORDS), T.int32)
    facts: T.Tensor((G, N), T.int32)
    x: T.Tensor((G, GROUP), T.float16)
    y = T.empty((N,), T.float16)
    turns, height = T.ceildiv(G, SETS * groups), groups * rows
    many = turns * SETS * groups
    with T.Kernel(T.ceildiv(N, rows), threads=threads) as b:
        if early:
            T.annotate_dependent_launch(W, facts)
        x_s = T.alloc_shared((many, GROUP), T.float16)
        facts_s = T.alloc_shared((many, rows), T.int32)
        words = [T.alloc_fragment((rows, groups * WORDS), T.int32) for _ in range(SETS)]
        fact = T.alloc_fragment((height,), T.int32)
        W_l = T.alloc_fragment((height, GROUP), T.float16)
        part = T.alloc_fragment((height, groups), T.float32)
        sums = T.alloc_fragment((height, groups), T.float32)
        own = T.alloc_fragment((height,), T.float32)
        own_s = T.alloc_shared((rows, groups), T.float32)
        of_groups = T.alloc_fragment((rows, groups), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.copy(W[b * rows, 0], words[0])
        T.copy(facts[0, b * rows], facts_s)
        T.copy(x[0, 0], x_s)
        T.clear(sums)
        for turn in T.serial(turns):
            for s in range(SETS):
                step = turn * SETS + s
                T.copy(W[b * rows, (step + 1) * groups * WORDS], words[(s + 1) % SETS])
                for i in T.Parallel(height):
                    fact[i] = facts_s[step * groups + i % groups, i // groups]
                for i, j in T.Parallel(height, GROUP):
                    word = words[s][i // groups, i % groups * WORDS + word_of(j)]
                    W_l[i, j] = T.extract_lane(less_zero(word, fact[i], j), j % 2)
                mine = x_s[step * groups : (step + 1) * groups, :]
                T.gemm(W_l, mine, part, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(height, groups):
                    sums[i, j] += part[i, j] * T.cast(scale_of(fact[i]), T.float32)
        for i, j in T.Parallel(height, groups):
            sums[i, j] = T.if_then_else(j == i % groups, sums[i, j], 0.0)
        T.reduce_sum(sums, own, dim=1)
        for i in T.Parallel(height):
            own_s[i // groups, i % groups] = own[i]
        T.copy(own_s, of_groups)
        T.reduce_sum(of_groups, total, dim=1)
        T.copy(total, y[b * rows])
    return y


def halves_error(K, scale):
    """How far a sum of K products of size `scale` and any sign may be off where each is rounded to
    float16, and so are sums of up to four.

    Such a sum of n is about sqrt(n) and errs by half a place, 2**-12 of it in the mean: together
    sqrt(1 + 2 + 3 + 4) of that for four. Errors are independent, and the largest of many results is
    a few standard deviations away, so this is six times that of all.
    """
    return 6 * 2.0**-12 * 10**0.5 * (K / PAIRS) ** 0.5 * scale


def case(N, K, dtype):
    return Case(
        kernel=gemv,
        inputs=lambda rng: (normal(rng, N, K, dtype=dtype), normal(rng, K, dtype=dtype)),
        reference=lambda w, x: w @ x,
        options={"dtype": T.dtype(dtype)},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{N}x{K} {np.dtype(dtype).name}",
    )


def packed_case(N, K):
    def reference(words, facts, x):
        return unpack(words.reshape(N, -1), facts) @ x.reshape(K)

    def inputs(rng):
        words, facts = packed(rng, N, K)
        x = normal(rng, K // GROUP, GROUP, dtype=np.float16)
        return words.reshape(N, -1, SHARE), facts, x

    return Case(
        kernel=gemv_w4a16,
        inputs=inputs,
        reference=reference,
        rtol=unit(np.float16),
        # A weight is at most 9 * 0.2, 0.6 in the mean; the reference rounds it to float16 too.
        atol=sum_error(K, 9 * 0.2) + halves_error(K, 0.6),
        name=f"{N}x{K} w4a16",
    )


def matrix_case(N, K, **options):
    def inputs(rng):
        return *packed(rng, N, K), normal(rng, K // GROUP, GROUP, dtype=np.float16)

    return Case(
        kernel=gemv_w4a16_matrix,
        inputs=inputs,
        # A weight less its zero is exact, and is scaled in float32.
        reference=lambda words, facts, x: unpack(words, facts, np.float64) @ x.reshape(K),
        options=options,
        rtol=unit(np.float16),
        atol=sum_error(K, 9 * 0.2),  # a weight is at most 9 * 0.2
        name=f"{N}x{K} w4a16 matrix",
    )


CASES = [
    case(33, 1000, np.float16),
    case(7, 130, np.float32),
    packed_case(13, 640),
    matrix_case(21, 1408),
    matrix_case(16, 512, early=True),
]

if __name__ == "__main__":
    main(CASES)
