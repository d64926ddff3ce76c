"""SwiGLU, forward and backward: one half of the columns gates the other.

Elementwise, so the only thing to win is that nothing is written between the steps.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def forward(X, dtype=T.float16, width=1024):
    """Y [M, N] = silu(X[:, :N]) * X[:, N:]."""
    M, N = T.dynamic("M, N")
    X: T.Tensor((M, 2 * N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, width), M, threads=128) as (block, row):
        for j in T.Parallel(width):
            column = block * width + j
            if column < N:
                gate = T.cast(X[row, column], T.float32)
                Y[row, column] = gate / (1 + T.exp(-gate)) * X[row, N + column]
    return Y


@tile.jit
def backward(X, dY, dtype=T.float16, width=1024):
    """dX [M, 2 N] of dY [M, N]."""
    M, N = T.dynamic("M, N")
    X: T.Tensor((M, 2 * N), dtype)
    dY: T.Tensor((M, N), dtype)
    dX = T.empty((M, 2 * N), dtype)
    with T.Kernel(T.ceildiv(N, width), M, threads=128) as (block, row):
        for j in T.Parallel(width):
            column = block * width + j
            if column < N:
                gate = T.cast(X[row, column], T.float32)
                value = T.cast(X[row, N + column], T.float32)
                s = 1 / (1 + T.exp(-gate))
                dX[row, column] = dY[row, column] * value * s * (1 + gate * (1 - s))
                dX[row, N + column] = dY[row, column] * gate * s
    return dX


def forward_reference(x):
    gate, value = np.split(x, 2, axis=1)
    return gate / (1 + np.exp(-gate)) * value


def backward_reference(x, dy):
    gate, value = np.split(x, 2, axis=1)
    s = 1 / (1 + np.exp(-gate))
    return np.concatenate([dy * value * s * (1 + gate * (1 - s)), dy * gate * s], axis=1)


CASES = [
    Case(
        kernel=forward,
        inputs=lambda rng: (normal(rng, 5, 1002, dtype=np.float16),),
        reference=forward_reference,
        rtol=unit(np.float16),
        atol=2.0**-24,
        name="forward",
    ),
    Case(
        kernel=backward,
        inputs=lambda rng: (
            normal(rng, 5, 1002, dtype=np.float16),
            normal(rng, 5, 501, dtype=np.float16),
        ),
        reference=backward_reference,
        rtol=unit(np.float16),
        atol=4 * unit(np.float32),
        name="backward",
    ),
]

if __name__ == "__main__":
    main(CASES)
