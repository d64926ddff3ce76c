"""Transpose: rows are read and rows are written; the turn happens in shared memory.

Written element by element one of the two sides would touch a line of memory for every number. A
tile in shared memory has no lines; how it is laid out against bank conflicts is the compiler's
choice.
"""

import numpy as np
from _run import Case, main, normal

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def transpose(X, dtype, block_M=64, block_N=64, threads=128):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((N, M), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        T.annotate_dependent_launch()  # blocks are there when the kernel in front has ended
        X_l = T.alloc_fragment((block_M, block_N), dtype)
        Y_s = T.alloc_shared((block_N, block_M), dtype)
        T.copy(X[by * block_M, bx * block_N], X_l)
        T.transpose(X_l, Y_s)
        T.copy(Y_s, Y[bx * block_N, by * block_M])
    return Y


def case(M, N, dtype):
    return Case(
        kernel=transpose,
        inputs=lambda rng: (normal(rng, M, N, dtype=dtype),),
        reference=lambda x: x.T,
        options={"dtype": T.dtype(dtype)},
        name=f"{M}x{N} {np.dtype(dtype).name}",
    )


CASES = [case(65, 200, np.float32), case(130, 72, np.float16)]

if __name__ == "__main__":
    main(CASES)
