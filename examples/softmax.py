"""Softmax of rows that fit in registers: read once, written once.

A block holds a few whole rows, of which every thread has a piece, or which have threads of their
own. Their maxima are taken away before the exponential, so that no sum overflows; a row is divided
by its sum before it leaves the registers. An element costs one multiplication and addition, one
power of two and one multiplication: divisions are one for a row.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T

LOG2_E = math.log2(math.e)


def own_threads(each, width=8):
    """Where element (i, j) of some rows lies, as thread and register, if `each` threads have a row
    to themselves and take pieces of `width` of it in turn."""
    return lambda i, j: (i * each + j // width % each, j // (width * each) * width + j % width)


@tile.jit
def softmax(X, dtype=T.float16, rows=4, threads=128, apart=False, blocks=0):
    """Y[i, :] = exp(X[i, :]) / sum of exp(X[i, :]), with registers for `blocks` blocks at once on a
    core, if they are given."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as block:
        if blocks:
            T.annotate_min_blocks_per_sm(blocks)
        given = T.alloc_fragment((rows, N), dtype)
        if apart:
            layout = T.Fragment((rows, N), own_threads(threads // rows))
            T.annotate_layout({given: layout})
        x = T.alloc_fragment((rows, N), T.float32)
        top, total = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        T.copy(X[block * rows, 0], given)
        T.copy(given, x)
        T.reduce_max(x, top, dim=1)
        for i in T.Parallel(rows):
            top[i] *= LOG2_E
        for i, j in T.Parallel(rows, N):
            x[i, j] = T.exp2(x[i, j] * LOG2_E - top[i])
        T.reduce_sum(x, total, dim=1)
        for i in T.Parallel(rows):
            total[i] = 1 / total[i]
        for i, j in T.Parallel(rows, N):
            given[i, j] = x[i, j] * total[i]
        T.copy(given, Y[block * rows, 0])
    return Y


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def case(M, N, dtype, emulate=True, **options):
    return Case(
        kernel=softmax,
        inputs=lambda rng: (3 * normal(rng, M, N, dtype=dtype),),
        reference=reference,
        options={"dtype": T.dtype(dtype), **options},
        emulate=emulate,
        rtol=unit(dtype) + 16 * unit(np.float32),  # exponent, sum and quotient in float32
        atol=SUBNORMAL,
        name=f"{M}x{N} {np.dtype(dtype).name}",
    )


SUBNORMAL = 2.0**-24
"""The smallest step of float16, which small weights are rounded to."""
CASES = [
    case(5, 1000, np.float16),
    case(7, 333, np.float32, False, rows=2, blocks=2),
    case(6, 1024, np.float16, rows=2, threads=128, apart=True),
]

if __name__ == "__main__":
    main(CASES)
