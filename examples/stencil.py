"""A five-point stencil: one step of the heat equation on a grid.

A block copies its tile with a border of one cell into shared memory; each cell is then read from
global memory once although five sums use it. Cells outside of the grid read as zero, the boundary
condition.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def heat_step(U, c=0.25, block_M=32, block_N=64):
    M, N = T.const("M, N")
    U: T.Tensor((M, N), T.float32)
    V = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        U_s = T.alloc_shared((block_M + 2, block_N + 2), T.float32)
        T.copy(U[by * block_M - 1, bx * block_N - 1], U_s)
        for i, j in T.Parallel(block_M, block_N):
            around = U_s[i, j + 1] + U_s[i + 2, j + 1] + U_s[i + 1, j] + U_s[i + 1, j + 2]
            V[by * block_M + i, bx * block_N + j] = (
                U_s[i + 1, j + 1] + (around - 4 * U_s[i + 1, j + 1]) * c
            )
    return V


def reference(c):
    def stepped(u):
        p = np.pad(u, 1)
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        return u + (around - 4 * u) * c

    return stepped


CASES = [
    Case(
        kernel=heat_step,
        inputs=lambda rng: (normal(rng, 65, 130),),
        reference=reference(0.25),
        atol=20 * unit(np.float32),  # six sums of numbers up to 20
        name="65x130",
    )
]

if __name__ == "__main__":
    main(CASES)
