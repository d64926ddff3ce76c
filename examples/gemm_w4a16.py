"""4-bit weights, 16-bit activations: groups of 128 weights share a scale and a zero point.

The weight is packed once, offline, by `pack`: eight numbers to a word, those that one thread needs
where a matrix unit takes the weight from registers, and the words of a group that one thread needs
one behind the other. Scale and zero of a group share a word too. So a kernel reads a quarter of the
bytes of float16, with wide loads. It makes floats of two numbers at a time, without conversions: in
the mantissa of a large power of two a number stands for itself. With two groups of columns in a
step two register tiles take turns: one is filled while the matrix unit reads the other.

The second kernel is for processors whose vectors hold float32: each word of a group has a lane, and
A is brought into the order of the words' numbers once, for many rows of W. A weight is then a
shift, a mask, a conversion and one addition of a product for each row of A, all in float32.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

GROUP = 128
"""Weights along K that share a scale and a zero, both whole steps of a kernel."""
WORD = 8
"""Numbers in a word."""
WORDS = GROUP // WORD
"""Words of a row's group."""
FOURS = 0x000F000F
"""The lowest four bits of both halves of a word."""


def pack(weights, scales, zeros):
    """(N, K) numbers from 0 to 15, (N, K / 128) scales and whole zeros from 0 to 15 -> (N, K / 8)
    words of weights and (K / 128, N) words of a scale, the lower half, and a zero, the upper one.

    Four threads share a row of the matrix unit's operand. Word 4p + b of a group is for thread p:
    it has the columns 2p and 2p + 1 of four eights, those of the group's b-th 32 columns. The even
    ones are in the lower half of the word, the lowest four bits are of the first eight.
    """
    if not ((zeros >= 0) & (zeros < 16) & (zeros == np.round(zeros))).all():
        raise ValueError("zeros are whole numbers from 0 to 15")
    n, k = weights.shape
    parts = weights.astype(np.uint32).reshape(n, k // GROUP, 4, 4, 4, 2)  # b, eight, p, even or odd
    bits = 4 * np.arange(4, dtype=np.uint32)[:, None, None] + np.array([0, 16], np.uint32)
    words = (parts << bits).sum(axis=(3, 5), dtype=np.uint32).swapaxes(2, 3).reshape(n, k // WORD)
    facts = scales.astype(np.float16).view(np.uint16) | zeros.astype(np.uint32) << 16
    return words.view(np.int32), np.ascontiguousarray(facts.T).view(np.int32)


def unpack(words, facts, kept: type = np.float16):
    """The float64 weights that `pack` packed, each rounded as a kernel keeps them."""
    n, groups = len(words), len(facts)
    bits = 4 * np.arange(4, dtype=np.uint32)[:, None, None] + np.array([0, 16], np.uint32)
    words = words.astype(np.uint32).reshape(n, groups, 4, 4).swapaxes(2, 3)[:, :, :, None, :, None]
    facts = facts.astype(np.uint32).T[..., None]
    scales = (facts & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64)
    weights = ((words >> bits & 15).reshape(n, groups, GROUP) - (facts >> 16) * 1.0) * scales
    return weights.astype(kept).astype(np.float64).reshape(n, -1)


def floats(word, odd):
    """The lowest four bits of both halves of a word as float16, 1024 more than the number; where
    `odd` is 1, the next four bits, 64 more."""
    return T.reinterpret(
        word & T.uint32(FOURS) << odd * 4 | 0x64006400 - odd * 0x10001000, T.float16x2
    )


def scale_of(fact):
    return T.extract_lane(T.reinterpret(fact, T.float16x2), 0)


def zeros_of(fact):
    """The zero in both halves of a word."""
    return (T.cast(fact, T.uint32) >> 16) * T.uint32(0x10001)


def word_of(j):
    """The word of a group that has its column j."""
    return j % 8 // 2 * 4 + j // 32


def column_of(w, q):
    """The column of a group that is number q, from the lowest, of its word w."""
    return w % 4 * 32 + q % 4 * 8 + w // 4 * 2 + q // 4


def number_of(word, q):
    """Number q of a word as float32."""
    return T.cast(T.cast(word, T.uint32) >> q * 4 & 15, T.float32)


def zero_of(fact):
    """The zero as float32."""
    return T.cast(T.cast(fact, T.uint32) >> 16, T.float32)


def less_zero(word, fact, j):
    """The pair that column j of a group is one of, less the zero: exact."""
    odd = T.cast(j // 8 % 2, T.uint32)
    numbers = floats(T.cast(word, T.uint32) >> (j // 16 % 2 * 8), odd)
    return numbers - floats(zeros_of(fact) << odd * 4, odd)


@tile.jit
def matmul_w4a16(A, W, facts, block_M=32, block_N=64, stages=3, threads=128, groups=1):
    """C = A @ ((weights - zeros) * scales).T, W and facts as `pack` made them; a step is `groups`
    groups of columns."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float16)
    W: T.Tensor((N, K // WORD), T.int32)
    facts: T.Tensor((K // GROUP, N), T.int32)
    C = T.empty((M, N), T.float16)
    step, words = GROUP * groups, GROUP // WORD
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_s = T.alloc_shared((block_M, step), T.float16)
        W_s = T.alloc_shared((block_N, groups * words), T.int32)
        facts_s = T.alloc_shared((groups, block_N), T.int32)
        W_l = [T.alloc_fragment((block_N, GROUP), T.float16) for _ in range(groups)]
        C_t = T.alloc_fragment((block_N, block_M), T.float32)
        T.clear(C_t)
        for k in T.Pipelined(T.ceildiv(K, step), num_stages=stages):
            T.copy(A[by * block_M, k * step], A_s)
            T.copy(W[bx * block_N, k * groups * words], W_s)
            T.copy(facts[k * groups, bx * block_N], facts_s)
            for g in range(groups):
                for i, j in T.Parallel(block_N, GROUP):
                    pair = less_zero(W_s[i, g * words + word_of(j)], facts_s[g, i], j)
                    W_l[g][i, j] = T.extract_lane(
                        pair * T.Broadcast(scale_of(facts_s[g, i]), 2), j % 2
                    )
                T.gemm(W_l[g], A_s[:, g * GROUP : (g + 1) * GROUP], C_t, transpose_B=True)
        for j, i in T.Parallel(block_N, block_M):
            C[by * block_M + i, bx * block_N + j] = C_t[j, i]
    return C


@tile.jit
def matmul_w4a16_lanes(A, W, facts, rows=256, few=8, block_M=16):
    """C = A @ ((weights - zeros) * scales).T, W and facts as `pack` made them, A and W by groups.

    A block has `rows` rows of W, and walks along `few` of them at a time.
    """
    M, N, G = T.const("M, N, G")
    assert rows % few == 0, "few divides rows"
    A: T.Tensor((M, G, GROUP), T.float16)
    W: T.Tensor((N, G, WORDS), T.int32)
    facts: T.Tensor((G, N), T.int32)
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, rows), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_s = T.alloc_shared((G, block_M, WORD, WORDS), T.float32)
        weights = T.alloc_fragment((WORD, WORDS), T.float32)
        sums = T.alloc_fragment((few, block_M, WORDS), T.float32)
        total = T.alloc_fragment((few, block_M), T.float32)
        for g, m, q, w in T.Parallel(G, block_M, WORD, WORDS):
            A_s[g, m, q, w] = T.cast(A[by * block_M + m, g, column_of(w, q)], T.float32)
        for r in T.serial(rows // few):
            first = bx * rows + r * few
            T.clear(sums)
            for g in T.serial(G):
                for i in T.serial(few):
                    for q, w in T.Parallel(WORD, WORDS):
                        fact = facts[g, first + i]
                        number = number_of(W[first + i, g, w], T.cast(q, T.uint32))
                        weights[q, w] = (number - zero_of(fact)) * T.cast(scale_of(fact), T.float32)
                    for m, w in T.Parallel(block_M, WORDS):
                        part = sums[i, m, w]
                        for q in range(WORD):
                            part += weights[q, w] * A_s[g, m, q, w]
                        sums[i, m, w] = part
            T.reduce_sum(sums, total, dim=2)
            for m, i in T.Parallel(block_M, few):
                C[by * block_M + m, first + i] = total[i, m]
    return C


def packed(rng, N, K):
    groups = N, K // GROUP
    scales = rng.uniform(0.05, 0.2, groups).astype(np.float16)
    return pack(rng.integers(0, 16, (N, K)), scales, rng.integers(6, 10, groups))


def case(M, N, K, tiles=None, **options):
    return Case(
        kernel=matmul_w4a16,
        inputs=lambda rng: (normal(rng, M, K, dtype=np.float16), *packed(rng, N, K)),
        reference=lambda a, words, facts: a @ unpack(words, facts).T,
        options=options,
        tiles=tiles or {},
        rtol=unit(np.float16),
        atol=sum_error(K),
        name=f"{M}x{N}x{K}",
    )


def lanes_case(M, N, K, **options):
    def inputs(rng):
        words, facts = packed(rng, N, K)
        a = normal(rng, M, K // GROUP, GROUP, dtype=np.float16)
        return a, words.reshape(N, -1, WORDS), facts

    return Case(
        kernel=matmul_w4a16_lanes,
        inputs=inputs,
        reference=lambda a, words, facts: (
            a.reshape(M, K) @ unpack(words.reshape(N, -1), facts, np.float64).T
        ),
        options=options,
        rtol=unit(np.float16),
        atol=sum_error(K, 9 * 0.2),  # a weight is at most 9 * 0.2
        name=f"{M}x{N}x{K} lanes",
    )


CASES = [
    case(5, 72, 384),
    case(65, 130, 256),
    # Two blocks of rows in each warp's registers.
    case(64, 128, 256, tiles={"gfx1100": {"threads": 256}}, block_M=64, block_N=128),
    case(40, 64, 640, tiles={"gfx1100": {"block_M": 16, "block_N": 32}}, groups=2),
    lanes_case(5, 21, 256, rows=16, few=4, block_M=4),
    lanes_case(2, 9, 640, rows=6, few=2, block_M=2),
]

if __name__ == "__main__":
    main(CASES)
