"""Sums of columns: the long axis is cut into parts, and parts meet by atomic addition.

A block keeps one sum for each of its columns and walks down its part of the rows, a tile at a time;
the tile's rows are added up once, at the end. Few columns and many rows then still fill a device.
"""

import numpy as np
from _run import Case, main, normal, sum_error

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def column_sum(X, dtype, parts=3, block_M=16, block_N=64, threads=128):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((N,), T.float32)
    steps = T.ceildiv(M, block_M * parts)
    with T.Kernel(T.ceildiv(N, block_N), threads=64) as bx:
        zero = T.alloc_fragment((block_N,), T.float32)
        T.clear(zero)
        T.copy(zero, Y[bx * block_N])
    with T.Kernel(T.ceildiv(N, block_N), parts, threads=threads) as (bx, part):
        x = T.alloc_fragment((block_M, block_N), dtype)
        sums = T.alloc_fragment((block_M, block_N), T.float32)
        total = T.alloc_fragment((block_N,), T.float32)
        T.clear(sums)
        for k in T.serial(steps):
            T.copy(X[(part * steps + k) * block_M, bx * block_N], x)
            for i, j in T.Parallel(block_M, block_N):
                sums[i, j] += x[i, j]
        T.reduce_sum(sums, total, dim=0)
        T.atomic_add(Y[bx * block_N], total)
    return Y


def case(M, N, dtype):
    return Case(
        kernel=column_sum,
        inputs=lambda rng: (normal(rng, M, N, dtype=dtype),),
        reference=lambda x: x.sum(axis=0),
        options={"dtype": T.dtype(dtype)},
        atol=sum_error(M),
        name=f"{M}x{N} {np.dtype(dtype).name}",
    )


CASES = [case(500, 130, np.float16), case(33, 65, np.float32)]

if __name__ == "__main__":
    main(CASES)
