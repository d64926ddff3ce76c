"""Softmax of rows of any length, in two passes over them.

The first pass keeps a running maximum and the running sum of exponentials taken against it; when
the maximum grows, the sum shrinks by the exponential of the difference. The second pass writes.
Exponentials are powers of 2 of numbers that were scaled before, as machines have those.
"""

import math

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T

LOG2_E = math.log2(math.e)


@tile.jit
def online_softmax(X, dtype=T.float32, rows=4, width=256):
    """Y[i, :] = exp(X[i, :]) / sum of exp(X[i, :]), one build for all lengths of rows."""
    M, N = T.dynamic("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        x = T.alloc_fragment((rows, width), T.float32)
        top, before = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        part, total = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        T.fill(top, -T.infinity(T.float32))
        T.clear(total)
        for k in T.serial(T.ceildiv(N, width)):
            T.copy(X[block * rows, k * width], x)
            for i, j in T.Parallel(rows, width):
                inside = k * width + j < N
                x[i, j] = T.if_then_else(inside, x[i, j] * LOG2_E, -T.infinity(T.float32))
            T.copy(top, before)
            T.reduce_max(x, top, dim=1, clear=False)
            for i, j in T.Parallel(rows, width):
                x[i, j] = T.exp2(x[i, j] - top[i])
            T.reduce_sum(x, part, dim=1)
            for i in T.Parallel(rows):
                total[i] = total[i] * T.exp2(before[i] - top[i]) + part[i]
        for k in T.serial(T.ceildiv(N, width)):
            T.copy(X[block * rows, k * width], x)
            for i, j in T.Parallel(rows, width):
                x[i, j] = T.exp2(x[i, j] * LOG2_E - top[i]) / total[i]
            T.copy(x, Y[block * rows, k * width])
    return Y


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def case(M, N, emulate=True, **options):
    return Case(
        kernel=online_softmax,
        inputs=lambda rng: (3 * normal(rng, M, N),),
        reference=reference,
        options=options,
        emulate=emulate,
        # 8 bits of an argument around -20 are gone before the exponential is taken.
        rtol=(32 + N / 8) * unit(np.float32),
        name=f"{M}x{N}",
    )


CASES = [case(5, 1001), case(3, 77, False, rows=1), case(2, 129, False, width=128)]

if __name__ == "__main__":
    main(CASES)
