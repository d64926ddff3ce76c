"""The k largest elements of every row, with their places, in descending order.

k rounds of maximum over a row in registers: a round finds the largest element, then the first
place where it stands, notes both, and takes it out.
"""

import numpy as np
from _run import Case, main, normal

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def top_k(X, k, rows=4):
    """Values [M, k] and columns [M, k] of X [M, N]; of equal elements the first comes first."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    value = T.empty((M, k), T.float32)
    place = T.empty((M, k), T.int32)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        x = T.alloc_fragment((rows, N), T.float32)
        column = T.alloc_fragment((rows, N), T.int32)
        top = T.alloc_fragment((rows,), T.float32)
        first = T.alloc_fragment((rows,), T.int32)
        T.copy(X[block * rows, 0], x)
        for turn in T.serial(k):
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(rows, N):
                column[i, j] = T.if_then_else(x[i, j] == top[i], j, N)
            T.reduce_min(column, first, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.if_then_else(j == first[i], -T.infinity(T.float32), x[i, j])
            for i in T.Parallel(rows):
                value[block * rows + i, turn] = top[i]
                place[block * rows + i, turn] = first[i]
    return value, place


def reference(x, k):
    place = np.argsort(-x, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(x, place, axis=1), place


def case(M, N, k, spread, **more):
    return Case(
        kernel=top_k,
        inputs=lambda rng: (np.round(normal(rng, M, N) * spread),),
        reference=lambda x: reference(x, k),
        options={"k": k},
        name=f"{k} of {M}x{N}",
        **more,
    )


CASES = [
    case(7, 333, 5, 1000, emulate=False),
    case(5, 129, 8, 2),
]  # the second is full of equal elements

if __name__ == "__main__":
    main(CASES)
