"""Grouped GEMM for mixtures of experts: rows sorted by expert, each group with its own weights.

The groups' sizes are data, so the grid cannot know them. It has room for the worst split of the
rows into tiles. A first kernel deals the tiles out: for each block the group, and its rows from
first to last; blocks left over get no rows and do nothing. A tile never spans two groups: rows of
the next group are loaded at its end but not stored.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def matmul_grouped(A, W, sizes, dtype, block_M=32, block_N=64, block_K=32):
    rows, experts, N, K = T.const("rows, experts, N, K")
    A: T.Tensor((rows, K), dtype)
    W: T.Tensor((experts, K, N), dtype)
    sizes: T.Tensor((experts,), T.int32)
    C = T.empty((rows, N), dtype)
    most = T.ceildiv(rows, block_M) + experts
    group_of = T.alloc_global((most,), T.int32)
    first_of = T.alloc_global((most,), T.int32)
    last_of = T.alloc_global((most,), T.int32)
    with T.Kernel(most, threads=32) as by:
        tiles = T.alloc_var(T.int32, init=0)  # of the groups so far
        total = T.alloc_var(T.int32, init=0)  # rows of the groups so far
        group_of[by], first_of[by], last_of[by] = 0, 0, 0
        for g in T.serial(experts):
            after = tiles + T.ceildiv(sizes[g], block_M)
            if tiles <= by and by < after:
                group_of[by] = g
                first_of[by] = total + (by - tiles) * block_M
                last_of[by] = total + sizes[g]
            tiles = after
            total += sizes[g]
    with T.Kernel(T.ceildiv(N, block_N), most, threads=128) as (bx, by):
        A_s = T.alloc_shared((block_M, block_K), dtype)
        W_s = T.alloc_shared((block_K, block_N), dtype)
        C_l = T.alloc_fragment((block_M, block_N), T.float32)
        first, last = first_of[by], last_of[by]
        if first < last:
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
                T.copy(A[first, k * block_K], A_s)
                T.copy(W[group_of[by], k * block_K, bx * block_N], W_s)
                T.gemm(A_s, W_s, C_l)
            for i, j in T.Parallel(block_M, block_N):
                if first + i < last:
                    C[first + i, bx * block_N + j] = C_l[i, j]
    return C


def reference(a, w, sizes):
    ends = np.cumsum(sizes)
    return np.concatenate([a[e - n : e] @ m for e, n, m in zip(ends, sizes, w, strict=True)])


def case(sizes, N, K, dtype):
    return Case(
        kernel=matmul_grouped,
        inputs=lambda rng: (
            normal(rng, sum(sizes), K, dtype=dtype),
            normal(rng, len(sizes), K, N, dtype=dtype),
            np.array(sizes, np.int32),
        ),
        reference=reference,
        options={"dtype": T.dtype(dtype)},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{sizes} {np.dtype(dtype).name}".replace(" ", ""),
    )


CASES = [case((33, 0, 7, 64), 72, 104, np.float16), case((5, 40), 33, 50, np.float32)]

if __name__ == "__main__":
    main(CASES)
