"""GEMV: a matrix times a vector is a sum along each row; the matrix is read once, nothing is
reused.

A block takes a few rows and walks along them. Each step adds to one partial sum for every column of
the step, and the columns are added up once, at the end. The second kernel does the same with 4-bit
weights, unpacked as they arrive.
"""

import numpy as np
from _run import Case, main, normal, sum_error, unit

import tile_frontend as tile
import tile_frontend.language as T

GROUP = 128
"""4-bit weights along a row that share a scale and a zero."""


@tile.jit
def gemv(W, x, dtype, rows=4, block=256):
    """y = W @ x."""
    N, K = T.const("N, K")
    W: T.Tensor((N, K), dtype)
    x: T.Tensor((K,), dtype)
    y = T.empty((N,), dtype)
    with T.Kernel(T.ceildiv(N, rows), threads=128) as b:
        products = T.alloc_fragment((rows, block), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.clear(products)
        for k in T.serial(T.ceildiv(K, block)):
            for i, j in T.Parallel(rows, block):
                weight = T.cast(W[b * rows + i, k * block + j], T.float32)
                products[i, j] += weight * T.cast(x[k * block + j], T.float32)
        T.reduce_sum(products, total, dim=1)
        T.copy(total, y[b * rows])
    return y


@tile.jit
def gemv_w4a16(W, scales, zeros, x, rows=4, block=512):
    """y = ((W - zeros) * scales) @ x, W packed two to a byte."""
    N, K = T.const("N, K")
    W: T.Tensor((N, K // 2), T.uint8)
    scales: T.Tensor((N, K // GROUP), T.float16)
    zeros: T.Tensor((N, K // GROUP), T.float16)
    x: T.Tensor((K,), T.float16)
    y = T.empty((N,), T.float16)
    half = block // 2
    with T.Kernel(T.ceildiv(N, rows), threads=128) as b:
        products = T.alloc_fragment((rows, half), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.clear(products)
        for k in T.serial(T.ceildiv(K, block)):
            for i, j in T.Parallel(rows, half):
                row, column = b * rows + i, k * half + j
                both = W[row, column]
                group = column * 2 // GROUP
                zero = T.cast(zeros[row, group], T.float32)
                scale = T.cast(scales[row, group], T.float32)
                low = (T.cast(both & 15, T.float32) - zero) * T.cast(x[column * 2], T.float32)
                high = (T.cast(both >> 4, T.float32) - zero) * T.cast(x[column * 2 + 1], T.float32)
                products[i, j] += (low + high) * scale
        T.reduce_sum(products, total, dim=1)
        T.copy(total, y[b * rows])
    return y


def case(N, K, dtype):
    return Case(
        kernel=gemv,
        inputs=lambda rng: (normal(rng, N, K, dtype=dtype), normal(rng, K, dtype=dtype)),
        reference=lambda w, x: w @ x,
        options={"dtype": T.dtype(dtype)},
        rtol=unit(dtype),
        atol=sum_error(K),
        name=f"{N}x{K} {np.dtype(dtype).name}",
    )


def packed_case(N, K):
    groups = N, K // GROUP

    def reference(packed, scales, zeros, x):
        weights = np.stack([packed & 15, packed >> 4], axis=2).reshape(N, K)
        scales, zeros = (np.repeat(v, GROUP, axis=1) for v in (scales, zeros))
        return ((weights - zeros) * scales) @ x

    return Case(
        kernel=gemv_w4a16,
        inputs=lambda rng: (
            rng.integers(0, 256, (N, K // 2)).astype(np.uint8),
            rng.uniform(0.05, 0.2, groups).astype(np.float16),
            rng.integers(6, 10, groups).astype(np.float16),
            normal(rng, K, dtype=np.float16),
        ),
        reference=reference,
        rtol=unit(np.float16),
        atol=sum_error(K, 10 * 0.2),  # a weight is at most 9 * 0.2
        name=f"{N}x{K} w4a16",
    )


CASES = [case(33, 1000, np.float16), case(7, 130, np.float32), packed_case(13, 640)]

if __name__ == "__main__":
    main(CASES)
