"""2:4 sparse weights: of every four neighbours along K two are kept, with four bits that say which.

`compress` keeps the two of largest magnitude, once, offline; memory then holds 9/16 of the dense
float16 weight. `T.gemm_sp` multiplies the compressed tile: where the matrix unit has no instruction
for it, the tile is expanded into shared memory first.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T


def compress(weights):
    """(N, K) numbers -> the kept ones (N, K / 2), and their places (N, K / 16), 16 bits for 16."""
    N, K = weights.shape
    groups = weights.reshape(N, K // 4, 4)
    places = np.sort(np.argsort(-np.abs(groups), axis=2, kind="stable")[..., :2], axis=2)
    kept = np.take_along_axis(groups, places, axis=2).reshape(N, K // 2)
    codes = (places[..., 0] | places[..., 1] << 2).reshape(N, K // 16, 4)
    return kept, (codes << np.arange(0, 16, 4)).sum(axis=2).astype(np.uint16).view(np.int16)


def expand(kept, places):
    """The dense matrix of what `compress` kept, zero elsewhere."""
    N, half = kept.shape
    codes = (places.astype(np.int64)[..., None] >> np.arange(0, 16, 4) & 15).reshape(N, -1, 1)
    pairs = np.concatenate([codes & 3, codes >> 2], axis=2)
    dense = np.zeros((N, half // 2, 4))
    np.put_along_axis(dense, pairs, kept.reshape(N, half // 2, 2), axis=2)
    return dense.reshape(N, 2 * half)


@tile.jit
def matmul_sparse(W, places, A, dtype, block_M=64, block_N=64, block_K=64):
    """C = W @ A.T, one row of C for each row of the weight."""
    N, half, M = T.const("N, half, M")
    W: T.Tensor((N, half), dtype)
    places: T.Tensor((N, half // 8), T.int16)
    A: T.Tensor((M, 2 * half), dtype)
    C = T.empty((N, M), dtype)
    with T.Kernel(T.ceildiv(M, block_M), T.ceildiv(N, block_N), threads=128) as (bx, by):
        W_s = T.alloc_shared((block_N, block_K // 2), dtype)
        E_s = T.alloc_shared((block_N, block_K // 16), T.int16)
        A_s = T.alloc_shared((block_M, block_K), dtype)
        C_l = T.alloc_fragment((block_N, block_M), T.float32)
        T.clear(C_l)
        for k in T.Pipelined(T.ceildiv(2 * half, block_K), num_stages=3):
            T.copy(W[by * block_N, k * (block_K // 2)], W_s)
            T.copy(places[by * block_N, k * (block_K // 16)], E_s)
            T.copy(A[bx * block_M, k * block_K], A_s)
            T.gemm_sp(W_s, E_s, A_s, C_l, transpose_B=True)
        T.copy(C_l, C[by * block_N, bx * block_M])
    return C


def case(N, M, K, dtype):
    return Case(
        kernel=matmul_sparse,
        inputs=lambda rng: (
            *compress(normal(rng, N, K, dtype=dtype)),
            normal(rng, M, K, dtype=dtype),
        ),
        reference=lambda w, places, a: expand(w, places) @ a.T,
        options={"dtype": T.dtype(dtype)},
        rtol=unit(dtype),
        atol=sum_error(K // 2, 2),  # the larger half of the weights is 1.3 in the mean square
        name=f"{N}x{M}x{K} {np.dtype(dtype).name}",
    )


CASES = [case(65, 40, 208, np.float16)]

if __name__ == "__main__":
    main(CASES)
