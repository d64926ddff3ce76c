"""The fast Hadamard transform of rows: log2(n) rounds of sums and differences.

Round r combines elements whose indices differ in bit r. Two shared tiles take turns as source and
destination, so that no round reads what it has just overwritten.
"""

import numpy as np
from _run import Case, main, normal, unit

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def hadamard(X, dtype, rows=4):
    M, n = T.const("M, n")
    X: T.Tensor((M, n), dtype)
    Y = T.empty((M, n), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as b:
        x = T.alloc_shared((rows, n), T.float32)
        y = T.alloc_shared((rows, n), T.float32)
        T.copy(X[b * rows, 0], x)
        for r in range(n.bit_length() - 1):
            for i, j in T.Parallel(rows, n):
                low = (j >> r) % 2 == 0
                y[i, j] = T.if_then_else(
                    low, x[i, j] + x[i, j ^ (1 << r)], x[i, j ^ (1 << r)] - x[i, j]
                )
            x, y = y, x
        for i, j in T.Parallel(rows, n):
            x[i, j] *= n**-0.5
        T.copy(x, Y[b * rows, 0])
    return Y


def matrix(n):
    """The matrix of the transform: the sign is the parity of the bits that indices share."""
    shared = np.arange(n)[:, None] & np.arange(n)
    parity = np.array([bin(v).count("1") % 2 for v in shared.flat]).reshape(n, n)
    return (1 - 2 * parity) / np.sqrt(n)


def case(M, n, dtype):
    return Case(
        kernel=hadamard,
        inputs=lambda rng: (normal(rng, M, n, dtype=dtype),),
        reference=lambda x: x @ matrix(n),
        options={"dtype": T.dtype(dtype)},
        rtol=unit(dtype),
        atol=4 * n.bit_length() * unit(np.float32),  # a round errs by half a unit, numbers are < 8
        name=f"{M}x{n} {np.dtype(dtype).name}",
    )


CASES = [case(7, 256, np.float32), case(33, 64, np.float16)]

if __name__ == "__main__":
    main(CASES)
