"""Where boxes may begin: the engine of a Hopper GPU stops at a start inside of 16 bytes, and at a
negative one of a store. Such copies go by threads."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T

N, TILE = 256, 64


def shifted(load, store, rows=0):
    @T.prim_func
    def kernel(A: T.Tensor((N, N), T.float16), B: T.Tensor((N, N), T.float16)):
        with T.Kernel(N // TILE, N // TILE, threads=128) as (bx, by):
            f = T.alloc_fragment((TILE, TILE), T.float16)
            t = T.alloc_shared((TILE, TILE), T.float16)
            out = T.alloc_shared((TILE, TILE), T.float16)
            T.clear(f)
            for _ in T.Pipelined(2, num_stages=2):
                T.copy(A[by * TILE, bx * TILE + load], t)
                for i, j in T.Parallel(TILE, TILE):
                    f[i, j] += t[i, j]
            T.copy(f, out)
            T.copy(out, B[by * TILE + rows, bx * TILE + store])

    return kernel


def moved(a, load, store, rows):
    out = np.zeros_like(a)
    wide = np.zeros((3 * N, 3 * N), a.dtype)
    wide[N : 2 * N, N : 2 * N] = a
    source = wide[N : 2 * N, N + load : 2 * N + load] * 2
    target = np.zeros_like(wide)
    target[N + rows : 2 * N + rows, N + store : 2 * N + store] = source
    out[:] = target[N : 2 * N, N : 2 * N]
    return out


@pytest.mark.parametrize(
    ("load", "store", "rows", "boxes"),
    [
        (0, 0, 0, ("load", "store")),
        (8, 16, 0, ("load", "store")),
        (-8, 0, 0, ("load", "store")),
        (1, 0, 0, ("store",)),
        (-4, 0, 0, ("store",)),
        (0, 4, 0, ("load",)),
        (0, -8, 0, ("load",)),
        (0, 0, -3, ("load",)),
        (0, 0, 5, ("load", "store")),
    ],
)
def test_results_are_right_wherever_boxes_begin(load, store, rows, boxes):
    function = shifted(load, store, rows)
    kernel = tile.compile(function, target="cuda -arch=sm_90a", device="emulator")
    a = np.random.default_rng(0).standard_normal((N, N)).astype(np.float16)
    b = np.zeros_like(a)
    kernel(a, b)
    np.testing.assert_array_equal(b, moved(a, load, store, rows))
    source = kernel.get_kernel_source()
    found = [kind for kind in ("load", "store") if f"tile_box_{kind}_2d(" in source]
    assert tuple(found) == boxes


def test_why_a_store_goes_by_threads():
    kernel = tile.compile(shifted(0, 0, -3), target="cuda -arch=sm_90a", device="emulator")
    assert "a start may be negative, at which the engine stops the device" in kernel.explain()
