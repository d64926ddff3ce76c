"""Boxes of tensors to shared memory and back: every swizzle, elements of every size, one to five
axes, and boxes that lie partly or wholly outside.
"""

import numpy as np
import pytest

from tile_cuda.prelude.index import mentioned, pieces_for
from tile_ir.diag import TileError

KINDS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SWIZZLES = (16, 32, 64, 128)
"""Bytes of an exchanged row; 16 for none."""

KERNEL = """
extern "C" __global__ void k(const __grid_constant__ tile_tensor_map x,
                             const __grid_constant__ tile_tensor_map y,
                             const int *starts, unsigned *raw) {{
  extern __shared__ __align__(1024) unsigned char s[];
  unsigned long long *bar = (unsigned long long *)(s + {room});
  if (threadIdx.x == 0) {{
    tile_phase_init(bar, 1);
    tile_phase_init_fence();
  }}
  __syncthreads();
  for (int i = 0; i < {count}; i++) {{
    const int *at = starts + i * 2 * {rank};
    if (threadIdx.x == 0) {{
      tile_phase_expect(bar, {bytes});
      tile_box_load_{rank}d(s, &x, bar, {load});
    }}
    tile_phase_wait(bar, i % 2);
    for (int j = threadIdx.x; j < {bytes} / 4; j += 32)
      raw[i * ({bytes} / 4) + j] = ((unsigned *)s)[j];
    if (threadIdx.x == 0) {{
      tile_box_store_{rank}d(&y, s, {store});
      tile_bulk_commit();
      tile_bulk_wait<0>();
    }}
    tile_fence_async();
    __syncwarp();
  }}
}}
"""
HOST = """
def bind(rt):
    launch = rt.kernel("k", "MMPP", 32, {shared})
    x = rt.tensor_map("x", {bits}, {box}, {row_bytes})
    y = rt.tensor_map("y", {bits}, {box}, {row_bytes})
    def call(source, starts, raw, result):
        launch(1, x(source, {extents}, {strides}), y(result, {extents}, {strides}), starts, raw)
    return call
"""


def program(bits, extents, box, row_bytes, count):
    """`count` boxes go from x to shared memory, as they lie there to `raw`, and on to y. `extents`
    and `box` are innermost first."""
    rank, size = len(box), bits // 8
    room = int(np.prod(box)) * size
    strides = tuple(int(s) * size for s in np.cumprod(extents)[:-1])
    load, store = (", ".join(f"at[{first + i}]" for i in range(rank)) for first in (0, rank))
    text = KERNEL.format(rank=rank, count=count, bytes=room, room=room, load=load, store=store)
    shared = room + 8
    host = HOST.format(
        shared=shared, bits=bits, box=box, row_bytes=row_bytes, extents=extents, strides=strides
    )
    return text, host, room


def boxes(rng, extents, box, count, size):
    """Where boxes are loaded from and stored to: inside, over each edge, and outside. A box begins
    at a multiple of 16 bytes of a row, and none is stored before the tensor: the engine stops."""
    low = [*(-b for b in box), *(0 for _ in box)]
    high = [e + 2 for e in extents] * 2
    starts = np.stack([rng.randint(a, b, count) for a, b in zip(low, high, strict=True)], 1)
    starts[:, :: len(box)] -= starts[:, :: len(box)] % (16 // size)
    starts[0] = 0
    return starts.astype(np.int32)


def loaded(x, start, box):
    """The box at `start` (innermost first), zeros where the tensor ends."""
    axes = [np.arange(s, s + b) for s, b in zip(start, box, strict=True)][::-1]
    near = [np.clip(a, 0, n - 1) for a, n in zip(axes, x.shape, strict=True)]
    inside = np.ones((1,) * x.ndim, bool)
    for i, (a, b) in enumerate(zip(axes, near, strict=True)):
        inside = inside & np.expand_dims(a == b, tuple(j for j in range(x.ndim) if j != i))
    return np.where(inside, x[np.ix_(*near)], 0).astype(x.dtype)


def stored(y, start, tile):
    """Write a box into a tensor, what of it lies inside."""
    for at in np.ndindex(*tile.shape):
        place = tuple(s + i for s, i in zip(start[::-1], at, strict=True))
        if all(0 <= p < n for p, n in zip(place, y.shape, strict=True)):
            y[place] = tile[at]


def check(agree, rng, bits, extents, box, row_bytes, count=6):
    text, host, room = program(bits, extents, box, row_bytes, count)
    x = rng.randint(1, 1 << 16, extents[::-1]).astype(KINDS[bits])
    starts = boxes(rng, extents, box, count, bits // 8)
    raw = np.zeros(count * room // 4, np.uint32)
    raw, y = agree(text, [x, starts], [raw, np.zeros_like(x)], host=host)
    want = np.zeros_like(x)
    for start in starts:
        stored(want, start[len(box) :], loaded(x, start[: len(box)], box))
    assert np.array_equal(y, want)
    return raw, x, starts


@pytest.mark.parametrize("row_bytes", SWIZZLES)
@pytest.mark.parametrize("bits", KINDS)
def test_swizzles(agree, rng, bits, row_bytes):
    row = max(row_bytes, 32) // (bits // 8)
    extents = (row * 16 * 3 // 16 + 16, 70)
    check(agree, rng, bits, extents, (row, 32), row_bytes)


SHAPES = {
    1: ((1000,), (64,)),
    2: ((48, 40), (32, 16)),
    3: ((40, 20, 10), (16, 8, 4)),
    4: ((24, 9, 7, 5), (16, 4, 3, 2)),
    5: ((16, 6, 5, 4, 3), (8, 4, 2, 3, 2)),
}


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("bits", [16, 32])
def test_axes(agree, rng, bits, rank):
    """Without exchange a box lies in shared memory as it is."""
    extents, box = SHAPES[rank]
    raw, x, starts = check(agree, rng, bits, extents, box, 16)
    got = raw.view(x.dtype).reshape(len(starts), *box[::-1])
    for tile, start in zip(got, starts, strict=True):
        assert np.array_equal(tile, loaded(x, start[:rank], box))


@pytest.mark.parametrize(
    ("starts", "code"),
    [
        ((1, 0, 0, 0), "E2304"),
        ((-4, 0, 0, 0), "E2304"),
        ((0, 0, 4, 0), "E2304"),
        ((0, 0, -8, 0), "E2303"),
        ((0, 0, 0, -1), "E2303"),
    ],
)
def test_starts_that_stop_the_device(emulated, starts, code):
    extents, box = (48, 40), (32, 16)
    text, host, room = program(16, extents, box, 16, 1)
    arrays = [np.ones((40, 48), np.uint16), np.array([starts], np.int32)]
    arrays += [np.zeros(room // 4, np.uint32), np.ones((40, 48), np.uint16)]
    source = pieces_for(mentioned(text), None) + text
    with pytest.raises(TileError) as caught:
        emulated.run(source, host, arrays)
    assert caught.value.code == code
