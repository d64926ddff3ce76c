"""Running sums along rows of any length.

A block scans a row strip by strip and carries the total of the strips before. Sums of half-
precision elements are formed in float32.
"""

from _run import Case, main, normal, sum_error

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def cumsum(X, dtype=T.float32, rows=4, width=128, reverse=False):
    """Y[i, j] = the sum of X[i, :j + 1], or of X[i, j:] when `reverse`."""
    M, N = T.dynamic("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, rows), threads=128) as block:
        x = T.alloc_fragment((rows, width), T.float32)
        y = T.alloc_fragment((rows, width), T.float32)
        part, before = (T.alloc_fragment((rows,), T.float32) for _ in range(2))
        T.clear(before)
        strips = T.ceildiv(N, width)
        for k in T.serial(strips):
            at = (strips - 1 - k if reverse else k) * width
            T.copy(X[block * rows, at], x)
            T.cumsum(x, y, dim=1, reverse=reverse)
            for i, j in T.Parallel(rows, width):
                y[i, j] += before[i]
            T.copy(y, Y[block * rows, at])
            T.reduce_sum(x, part, dim=1)
            for i in T.Parallel(rows):
                before[i] += part[i]
    return Y


def reference(x, reverse=False):
    return x[:, ::-1].cumsum(axis=1)[:, ::-1] if reverse else x.cumsum(axis=1)


def case(M, N, **options):
    return Case(
        kernel=cumsum,
        inputs=lambda rng: (normal(rng, M, N),),
        reference=lambda x: reference(x, **options),
        options=options,
        atol=sum_error(N),
        name=f"{M}x{N}",
    )


CASES = [case(7, 500), case(5, 131, reverse=True)]

if __name__ == "__main__":
    main(CASES)
