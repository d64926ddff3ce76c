"""Matrix instructions of every kind, with the layouts that the descriptions state, and bulk copies,
by the programs that also run on a device."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from tile_cpu.emulator import Emulator, options
from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.intrinsics.matrix import mma_wrapper
from tile_cuda.manifest import MANIFEST
from tile_cuda.prelude.index import mentioned, pieces_for
from tile_ir.diag import TileError
from tile_ir.layout import parse_layout
from tile_ir.numerics.array import convert_array, pack, to_numpy_dtype, unpack
from tile_ir.testing.by_path import module_at
from tile_ir.text import parse_module
from tile_ir.types import dtype, f32

TESTS = Path(__file__).parents[2] / "packages" / "tile-cuda" / "tests"


HOPPER = module_at(TESTS / "test_hopper_device.py")
SYNC = {
    (arch, atom.name): atom
    for arch in spec.names()
    for atom in spec.load(arch).matrix.values()
    if atom.engine == "sync"
}
ONCE = {name: arch for arch, name in sorted(SYNC, reverse=True)}
_number = itertools.count()


def random_tile(kind, shape, rng):
    dt = dtype(kind)
    if dt.is_int:
        return rng.integers(0 if kind[0] == "u" else -8, 8, shape).astype(to_numpy_dtype(dt))
    return convert_array(rng.integers(-4, 5, shape).astype(np.float32), f32, dt)


def owners(layout, at, axes):
    """Who holds an element: a layout counts coordinates in the order of its own axes."""
    return layout.owners(tuple(at[axes.index(axis)] for axis in layout.outputs))


def registers(layout, tile, axes, dt):
    """The bytes of every thread's registers, thread after thread; `axes` are those of `tile`."""
    held = np.empty((layout.threads, layout.values), tile.dtype)
    for at in np.ndindex(*tile.shape):
        for thread, value in owners(layout, at, axes):
            held[thread, value] = tile[at]
    return np.ascontiguousarray(pack(held.reshape(-1), dt))


@pytest.mark.parametrize("name", sorted(ONCE))
def test_products_of_a_warp(from_cuda, name):
    atom = SYNC[ONCE[name], name]
    wrapper, text = mma_wrapper(atom)
    kinds = [dtype(o.dtype) for o in (atom.a, atom.b, atom.accumulator)]
    layouts = [parse_layout(atom.layout(o)) for o in ("a", "b", "accumulator")]
    sizes = [lay.values * dt.storage_bits // 8 for lay, dt in zip(layouts, kinds, strict=True)]
    copies = "\n".join(
        f"alignas(16) char r{n}[{size}]; for (int i = 0; i < {size}; i++)"
        f" r{n}[i] = {n}[threadIdx.x * {size} + i];"
        for n, size in zip("abc", sizes, strict=True)
    )
    body = f"""extern "C" __global__ void k(char *c, const char *a, const char *b) {{
  {copies}
  {wrapper}(rc, ra, rb);
  for (int i = 0; i < {sizes[2]}; i++) c[threadIdx.x * {sizes[2]} + i] = rc[i];
}}
"""
    run = from_cuda(pieces_for(mentioned(body), {wrapper: text}) + body, 3, arch=ONCE[name])
    rng = np.random.default_rng(5)
    shapes = [(atom.m, atom.k), (atom.k, atom.n), (atom.m, atom.n)]
    tiles = [random_tile(dt.name, shape, rng) for dt, shape in zip(kinds, shapes, strict=True)]
    rows = zip(layouts, tiles, ("mk", "kn", "mn"), kinds, strict=True)
    a, b, c = (registers(*row) for row in rows)
    run(c, a, b)
    got = unpack(c, kinds[2], (32, layouts[2].values))
    wide = [t.astype(np.float64) for t in tiles]
    want = wide[2] + wide[0] @ wide[1]
    for at in np.ndindex(*want.shape):
        for thread, value in owners(layouts[2], at, "mn"):
            assert float(got[thread, value]) == want[at]


@pytest.fixture
def build(nvrtc, tmp_path):
    """A function of stage simt, for the emulator."""

    def make(fn):
        target = spec.load("sm_90a")
        emulator, path = Emulator(MANIFEST, target), tmp_path / f"{fn.name}{next(_number)}.so"
        emulator.compile(emit(fn, target), path)
        return emulator.load(None, path)

    return make


def addresses(arrays):
    return (a.ctypes.data for a in arrays)


@pytest.mark.parametrize("row_bytes", HOPPER.SWIZZLES)
@pytest.mark.parametrize("kind", ["u8", "f16", "f64"])
def test_boxes_arrive_as_the_layout_says_and_return(build, kind, row_bytes):
    dt = dtype(kind)
    rows, columns = 64, max(row_bytes, 64 if row_bytes == 16 else 0) // (dt.storage_bits // 8)
    batches, m, n = 2, 100, 80
    x = np.random.default_rng(3).integers(1, 100, (batches, m, n)).astype(to_numpy_dtype(dt))
    tiles_m, tiles_n = -(-m // rows), -(-n // columns)
    raw = np.zeros((batches * tiles_m * tiles_n, rows * columns), x.dtype)
    y = np.zeros_like(x)
    build(HOPPER.trip(kind, rows, columns, row_bytes))(*addresses((x, y, raw)), batches, m, n)
    assert np.array_equal(y, x)
    padded = np.zeros((batches, tiles_m * rows, tiles_n * columns), x.dtype)
    padded[:, :m, :n] = x
    swizzle = HOPPER.SWIZZLES[row_bytes]
    layout = parse_layout(f"m ({rows}:{columns}) n ({columns}:1) {swizzle}".strip())
    at = [[layout.offset((i, j), dt.storage_bits) for j in range(columns)] for i in range(rows)]
    got = raw.reshape(batches, tiles_m, tiles_n, -1)[..., at]
    assert np.array_equal(got.transpose(0, 1, 3, 2, 4).reshape(padded.shape), padded)


@pytest.mark.parametrize(
    "case", HOPPER.CASES[::5], ids=lambda c: "-".join(str(getattr(p, "name", p)) for p in c)
)
def test_products_of_a_warpgroup(build, case):
    """Types, major axes, swizzles and homes; every fifth, which meets each value of each."""
    atom, n, _, a_major, b_major, home = case
    fn, k = HOPPER.product(*case)
    rng = np.random.default_rng(11)
    a, b = (rng.integers(-4, 5, shape) for shape in ((64, k), (k, n)))
    stored = dtype(atom.a.dtype)
    given_a = a if a_major == "k" else a.T
    if home == "register":
        layout = parse_layout(atom.layout("a"))
        given_a = np.empty((k // atom.k, 128, layout.values))
        for step, t, v in np.ndindex(*given_a.shape):
            at = dict(zip(layout.outputs, layout.coord(t, v), strict=True))
            given_a[step, t, v] = a[at["m"], step * atom.k + at["k"]]
    given_b = b.T if b_major == "k" else b
    c = np.zeros((64, n), to_numpy_dtype(dtype(atom.accumulator.dtype)))
    arrays = [_stored(x, stored) for x in (given_a, given_b)]
    build(fn)(*addresses((*arrays, c)))
    assert np.array_equal(c, (a @ b).astype(c.dtype))


def _stored(x, kind):
    made = (
        x.astype(to_numpy_dtype(kind)) if kind.is_int else convert_array(x.astype("f4"), f32, kind)
    )
    return np.ascontiguousarray(made)


@pytest.mark.parametrize("name", ["gemm_nn", "gemm_nt"])
def test_products_with_roles(build, name):
    path = TESTS / "programs" / f"{name}.tir"
    run = build(parse_module(path.read_text(), str(path)).functions[0])
    rng = np.random.default_rng(7)
    for m, n, k in ((128, 256, 64), (200, 264, 328), (8, 8, 8)):
        a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
        given = np.ascontiguousarray(b if name == "gemm_nn" else b.T)
        want = a.astype(np.float64) @ b.astype(np.float64)
        for seed in range(2):
            c = np.full((m, n), np.nan, np.float16)
            with options(schedule="random", seed=seed):
                run(*addresses((a, given, c)), m, n, k)
            assert np.max(np.abs(c - want)) <= 1e-3 * np.max(np.abs(want))


def test_a_slot_given_back_too_early(build):
    """The producer may refill what a matrix instruction in flight still reads."""
    path = TESTS / "programs" / "gemm_nn.tir"
    text = path.read_text()
    before, rest = text.split("          if k > 0 {\n            settle_count mma <= 1\n", 1)
    _, after = rest.split("store last[] = slot[]", 1)
    _, end = after.split("barrier_arrive empty[last[]]", 1)
    kept = after[: after.index("        if w == 0 {\n          barrier_arrive empty[last[]]")]
    give = "if w == 0 {\n barrier_arrive empty[slot[]]\n }\n store last[] = slot[]"
    early = f"{before}{give}{kept}if w == 0 {{\n store last[] = 0{end}"
    run = build(parse_module(early, str(path)).functions[0])
    m, n, k = 128, 256, 64 * 12
    a, b = np.ones((m, k), np.float16), np.ones((k, n), np.float16)
    c = np.zeros((m, n), np.float16)
    with pytest.raises(TileError) as caught:
        run(*addresses((a, b, c)), m, n, k)
    assert caught.value.code == "E2306"
