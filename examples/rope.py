"""Rotary position embedding: pairs of elements turn by an angle that grows with the position.

Element d of the first half of a head turns with element d of the second half. Angles come from a
table of cosines and sines, one row per position; rows are chosen by the positions of the tokens.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def rope(X, position, cosine, sine, dtype=T.float16):
    """Y of X [tokens, heads, dim], positions [tokens], and tables [positions, dim / 2]."""
    tokens, heads, dim, length, half = T.const("tokens, heads, dim, length, half")
    X: T.Tensor((tokens, heads, dim), dtype)
    position: T.Tensor((tokens,), T.int32)
    cosine: T.Tensor((length, half), T.float32)
    sine: T.Tensor((length, half), T.float32)
    Y = T.empty((tokens, heads, dim), dtype)
    with T.Kernel(tokens, threads=128) as t:
        for h, d in T.Parallel(heads, half):
            at = position[t]
            first, second = X[t, h, d], X[t, h, half + d]
            Y[t, h, d] = first * cosine[at, d] - second * sine[at, d]
            Y[t, h, half + d] = first * sine[at, d] + second * cosine[at, d]
    return Y


def tables(length, dim, base=10000.0):
    angle = np.arange(length)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def reference(x, position, cosine, sine):
    a, b = np.split(x, 2, axis=-1)
    c, s = cosine[position][:, None], sine[position][:, None]
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1)


def inputs(rng):
    position = rng.integers(0, 64, 9).astype(np.int32)
    return normal(rng, 9, 3, 96, dtype=np.float16), position, *tables(64, 96)


CASES = [
    Case(
        kernel=rope,
        inputs=inputs,
        reference=reference,
        rtol=unit(np.float16),
        atol=8 * unit(np.float32),  # of the difference of two products
    ),
]

if __name__ == "__main__":
    main(CASES)
