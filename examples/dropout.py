"""Dropout whose mask is drawn anew from a seed wherever it is needed, and stored nowhere.

The generator is Philox 4x32 with ten rounds: a counter goes through rounds of multiplication and
exclusive or, keyed by the seed, and gives four independent words. Equal counters give equal words
on every device, so the backward pass draws the mask of the forward pass again.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85


def philox(counter, seed):
    """Four words of 32 bits for a counter; a plain function, its rounds are unrolled."""
    words = [T.cast(counter, T.uint32), T.uint32(0), T.uint32(0), T.uint32(0)]
    for step in range(10):
        keys = [
            T.cast(seed, T.uint32) + T.uint32(step * WEYL[0] & 0xFFFFFFFF),
            T.uint32(step * WEYL[1] & 0xFFFFFFFF),
        ]
        low, high = [], []
        for factor, word in zip(MULTIPLIERS, words[::2], strict=True):
            product = T.cast(word, T.uint64) * T.uint64(factor)
            low.append(T.cast(product, T.uint32))
            high.append(T.cast(product >> T.uint64(32), T.uint32))
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
    return words


@tile.jit
def dropout(X, seed: T.int32, p, dtype=T.float16, block=128):
    """Y[i] = X[i] / (1 - p) where a uniform number is at least p, else 0; counter i // 4."""
    n = T.dynamic("n")
    X: T.Tensor((n,), dtype)
    Y = T.empty((n,), dtype)
    threshold = int(p * 2**32)
    with T.Kernel(T.ceildiv(n, 4 * block), threads=128) as b:
        for i in T.Parallel(block):
            for w, word in enumerate(philox(b * block + i, seed)):
                at = (b * block + i) * 4 + w
                if at < n:
                    kept = word >= T.uint32(threshold)
                    Y[at] = T.if_then_else(kept, X[at] * (1 / (1 - p)), 0)
    return Y


def philox_reference(counters, seed):
    mask = np.uint64(0xFFFFFFFF)
    words = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    for step in range(10):
        keys = [np.uint64((seed + step * WEYL[0]) & 0xFFFFFFFF)]
        keys.append(np.uint64(step * WEYL[1] & 0xFFFFFFFF))
        products = [np.uint64(m) * w for m, w in zip(MULTIPLIERS, words[::2], strict=True)]
        low, high = [p & mask for p in products], [p >> np.uint64(32) for p in products]
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
    return np.stack(words, axis=1).ravel()


def reference(x, seed, p):
    words = philox_reference(np.arange((len(x) + 3) // 4), seed)[: len(x)]
    return np.where(words >= int(p * 2**32), x / (1 - p), 0)


def case(n, p, seed, **more):
    return Case(
        kernel=dropout,
        inputs=lambda rng: (normal(rng, n, dtype=np.float16), seed),
        reference=lambda x, seed: reference(x, seed, p),
        options={"p": p},
        rtol=unit(np.float16),
        name=f"{n} of probability {p}",
        **more,
    )


CASES = [case(2003, 0.1, 42), case(4099, 0.5, 7, emulate=False)]

if __name__ == "__main__":
    main(CASES)
