"""GEMV of 4-bit weights for processors with vectors of float32: each word of a group has a lane.

A block brings x into the order of the words' numbers once, for many rows, and takes zeros off the
sum of x, so a weight costs a shift, a mask, a conversion and one addition of a product.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit
from gemm_w4a16 import (
    GROUP,
    WORD,
    WORDS,
    column_of,
    number_of,
    packed,
    scale_of,
    unpack,
    zero_of,
)

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def gemv_w4a16_lanes(W, facts, x, rows=128, few=4):
    """y = ((weights - zeros) * scales) @ x, W and facts as `pack` made them, W by groups.

    A block has `rows` rows, and walks along `few` of them at a time.
    """
    N, G = T.const("N, G")
    assert rows % few == 0, "few divides rows"
    W: T.Tensor((N, G, WORDS), T.int32)
    facts: T.Tensor((G, N), T.int32)
    x: T.Tensor((G, GROUP), T.float16)
    y = T.empty((N,), T.float16)
    with T.Kernel(T.ceildiv(N, rows), threads=128) as b:
        x_s = T.alloc_shared((G, WORD, WORDS), T.float32)
        x_sum = T.alloc_shared((G, WORDS), T.float32)
        scales = T.alloc_shared((G, rows), T.float32)
        zeros = T.alloc_shared((G, rows), T.float32)
        sums = T.alloc_fragment((few, WORDS), T.float32)
        total = T.alloc_fragment((few,), T.float32)
        for g, q, w in T.Parallel(G, WORD, WORDS):
            x_s[g, q, w] = T.cast(x[g, column_of(w, q)], T.float32)
        for g, w in T.Parallel(G, WORDS):
            own = T.float32(0)
            for q in range(WORD):
                own += x_s[g, q, w]
            x_sum[g, w] = own
        for g, i in T.Parallel(G, rows):
            fact = facts[g, b * rows + i]
            scales[g, i] = T.cast(scale_of(fact), T.float32)
            zeros[g, i] = zero_of(fact)
        for r in T.serial(rows // few):
            first = b * rows + r * few
            T.clear(sums)
            for g in T.serial(G):
                for i, w in T.Parallel(few, WORDS):
                    part = -zeros[g, r * few + i] * x_sum[g, w]
                    for q in range(WORD):
                        part += number_of(W[first + i, g, w], q) * x_s[g, q, w]
                    sums[i, w] += part * scales[g, r * few + i]
            T.reduce_sum(sums, total, dim=1)
            T.copy(total, y[first])
    return y


def case(N, K, **options):
    def inputs(rng):
        words, facts = packed(rng, N, K)
        x = normal(rng, K // GROUP, GROUP, dtype=np.float16)
        return words.reshape(N, -1, WORDS), facts, x

    return Case(
        kernel=gemv_w4a16_lanes,
        inputs=inputs,
        reference=lambda words, facts, x: (
            unpack(words.reshape(N, -1), facts, np.float64) @ x.reshape(K)
        ),
        options=options,
        rtol=unit(np.float16),
        atol=sum_error(K, 9 * 0.2),  # a weight is at most 9 * 0.2
        name=f"{N}x{K}",
    )


CASES = [case(21, 640, rows=16), case(7, 1152, rows=6, few=3)]

if __name__ == "__main__":
    main(CASES)
