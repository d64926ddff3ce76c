"""How often each value occurs: counts in shared memory first, then one addition per block and bin.

Atomic additions to shared memory are near; only the bins of a block go to global memory.
"""

import numpy as np
from _run import Case, main

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def histogram(X, count, bins, block=2048):
    """count[x] grows by how often x occurs in X [n]; values outside the bins are not counted."""
    n = T.dynamic("n")
    X: T.Tensor((n,), T.int32)
    count: T.Tensor((bins,), T.int32)
    with T.Kernel(T.ceildiv(n, block), threads=128) as b:
        own = T.alloc_shared((bins,), T.int32)
        T.clear(own)
        for i in T.Parallel(block):
            if b * block + i < n:
                x = X[b * block + i]
                if x >= 0 and x < bins:
                    T.atomic_add(own[x], 1)
        T.atomic_add(count, own)


def reference(x, bins):
    return np.bincount(x[(x >= 0) & (x < bins)], minlength=bins)


def case(n, bins, **more):
    return Case(
        kernel=histogram,
        inputs=lambda rng: (
            rng.integers(-3, bins + 3, n).astype(np.int32),
            np.zeros(bins, np.int32),
        ),
        reference=lambda x, count: reference(x, bins),
        options={"bins": bins},
        writes=(1,),
        name=f"{n} into {bins}",
        **more,
    )


CASES = [case(5001, 100), case(3000, 256, emulate=False)]

if __name__ == "__main__":
    main(CASES)
