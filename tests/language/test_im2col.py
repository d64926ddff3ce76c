"""Tiles of patches: the matrix of a convolution, with zeros in the padding and outside."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError

CASES = [
    # images, height, width, channels, kernel, stride, dilation, pad
    (2, 6, 5, 4, 3, 1, 1, 1),
    (1, 7, 7, 3, 3, 2, 1, 0),
    (2, 8, 6, 2, 3, 1, 2, 2),
    (1, 5, 5, 8, 1, 1, 1, 0),
    (1, 9, 4, 5, 2, 3, 1, 1),
]


def outputs(size, kernel, stride, dilation, pad):
    return (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1


def patches(image, kernel, stride, dilation, pad):
    """The whole matrix, by loops over outputs and weights."""
    n, h, w, c = image.shape
    down, across = (outputs(e, kernel, stride, dilation, pad) for e in (h, w))
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows = [
        [
            padded[i, y * stride + u * dilation, x * stride + v * dilation, :]
            for u in range(kernel)
            for v in range(kernel)
        ]
        for i in range(n)
        for y in range(down)
        for x in range(across)
    ]
    return np.array(rows).reshape(n * down * across, kernel * kernel * c)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scope", ["shared", "fragment"])
def test_every_tile_of_the_matrix(run, rng, case, scope):
    n, h, w, c, *numbers = case
    block = (16, 8)
    alloc = T.alloc_shared if scope == "shared" else T.alloc_fragment
    image = rng.standard_normal((n, h, w, c)).astype(np.float32)
    want = patches(image, *numbers)
    grid = [-(-e // b) for e, b in zip(want.shape, block, strict=True)]

    @T.prim_func
    def kernel(A: T.Tensor((n, h, w, c), T.float32)):
        M = T.empty((grid[0] * 16, grid[1] * 8), T.float32)
        with T.Kernel(*grid, threads=32) as (bx, by):
            tile = alloc(block, T.float32)
            T.im2col(A, tile, bx, by, *numbers)
            T.copy(tile, M[bx * 16, by * 8])
        return M

    (m,) = run(kernel, image)
    full = np.zeros_like(m)
    full[: want.shape[0], : want.shape[1]] = want
    np.testing.assert_array_equal(m, full)


def test_a_convolution_as_a_product(run, rng):
    """By tiles of patches in a pipeline; the number of images is known at launch only."""
    h, w, c, f, k, s, d, p = 8, 7, 6, 20, 3, 2, 1, 1
    down, across = outputs(h, k, s, d, p), outputs(w, k, s, d, p)
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n, h, w, c), T.float16), B: T.Tensor((k * k * c, f), T.float16)):
        C = T.empty((n * down * across, f), T.float32)
        with T.Kernel(T.ceildiv(n * down * across, 32), threads=64) as bx:
            a = T.alloc_shared((32, 16), T.float16)
            b = T.alloc_shared((16, 32), T.float16)
            acc = T.alloc_fragment((32, 32), T.float32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k * k * c, 16), num_stages=2):
                T.im2col(A, a, bx, ko, k, s, d, p)
                T.copy(B[ko * 16, 0], b)
                T.gemm(a, b, acc)
            T.copy(acc, C[bx * 32, 0])
        return C

    image = rng.standard_normal((3, h, w, c)).astype(np.float16)
    weights = rng.standard_normal((k * k * c, f)).astype(np.float16)
    (out,) = run(kernel, image, weights, rtol=1e-3, atol=1e-3)
    want = patches(image, k, s, d, p).astype(np.float64) @ weights.astype(np.float64)
    np.testing.assert_allclose(out, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wrong", ["axes", "tile", "stride", "padding"])
def test_what_fits_no_image_is_refused(wrong):
    numbers = {"stride": (3, 0, 1, 1), "padding": (3, 1, 1, -1)}.get(wrong, (3, 1, 1, 1))
    shape = (8, 8, 4) if wrong == "axes" else (1, 8, 8, 4)
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor(shape, T.float32)):
            with T.Kernel(1):
                tile = T.alloc_shared((8,) if wrong == "tile" else (8, 8), T.float32)
                T.im2col(A, tile, 0, 0, *numbers)

    assert raised.value.code == "E1420"
    assert raised.value.help
