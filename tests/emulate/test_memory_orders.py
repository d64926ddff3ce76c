"""Blocks that tell others what they wrote, by atomics with an order: on every device what the last
one adds up is all of it, and without the order the emulator says what is missing."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError

TARGETS = ("cuda -arch=sm_80", "rocm -arch=gfx942", "rocm -arch=gfx1100", "metal -arch=apple7")
BLOCKS = 6


def last_block(order):
    @T.prim_func
    def kernel(A: T.Tensor((BLOCKS, 64), T.int32), done: T.Tensor((1,), T.int32)):
        part = T.alloc_global((BLOCKS, 64), T.int32)
        total = T.empty((64,), T.int32)
        with T.Kernel(BLOCKS, threads=64) as b:
            for i in T.Parallel(64):
                part[b, i] = 3 * A[b, i]
            before = T.atomic_add(done[0], 1, memory_order=order, return_prev=True)
            if before == BLOCKS - 1:
                mine = T.alloc_fragment((64,), T.int32)
                T.clear(mine)
                for other in T.serial(BLOCKS):
                    for i in T.Parallel(64):
                        mine[i] += part[other, 63 - i]
                T.copy(mine, total)
        return total

    return kernel


@pytest.fixture(autouse=True)
def own_cache(nvrtc, zig, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("target", TARGETS)
def test_the_last_block_has_what_all_wrote(target, rng):
    a = rng.integers(-1000, 1000, (BLOCKS, 64), dtype=np.int32)
    kernel = tile.compile(last_block("acq_rel"), target=target, device="emulator")
    assert np.array_equal(kernel(a, np.zeros(1, np.int32)), 3 * a.sum(axis=0)[::-1])
    relaxed = tile.compile(last_block("relaxed"), target=target, device="emulator")
    with pytest.raises(TileError, match="without an order between") as caught:
        relaxed(a, np.zeros(1, np.int32))
    assert caught.value.code == "E2306"
