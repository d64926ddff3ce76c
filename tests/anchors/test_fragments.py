"""Matrix instructions of a warp and the copies of their fragments: registers in, registers out.

How hardware orders and rounds the sums of a matrix instruction is not documented. Inputs here are
small integers times powers of two, so that every order gives the same sum, without rounding.
"""

import numpy as np
import pytest

from tile_cuda import spec
from tile_cuda.intrinsics.matrix import mma_wrapper
from tile_ir.layout import parse_layout
from tile_ir.numerics.array import convert_array, pack, to_numpy_dtype, unpack
from tile_ir.types import dtype, f32

ATOMS = {
    atom.name: atom
    for arch in ("sm_80", "sm_86", "sm_89", "sm_90a")
    for atom in spec.load(arch).matrix.values()
    if atom.engine == "sync"
}
AXES = ("mn", "mk", "kn")
LARGEST = {"f64": 1 << 20, "f8e4m3fn": 4, "f8e5m2": 4}
"""Elements of floating types are integers up to this, or 8."""
PRECISION = {"f16": 2.0**-10, "f8e4m3fn": 2.0**-10, "f8e5m2": 2.0**-10}
"""Error of a sum of general values, as a part of the sum of their magnitudes, by the type of the
accumulator or of the operands; f32 sums lose up to a bit more than a rounded sum does, 2**-21."""

PRODUCT = """
extern "C" __global__ void k(const char *c, const char *a, const char *b, char *out) {{
  alignas(16) char rc[{c}], ra[{a}], rb[{b}];
  for (int i = 0; i < {c}; i++) rc[i] = c[threadIdx.x * {c} + i];
  for (int i = 0; i < {a}; i++) ra[i] = a[threadIdx.x * {a} + i];
  for (int i = 0; i < {b}; i++) rb[i] = b[threadIdx.x * {b} + i];
  {wrapper}(rc, ra, rb);
  for (int i = 0; i < {c}; i++) out[threadIdx.x * {c} + i] = rc[i];
}}
"""


def parts(atom):
    """Element type and layout of accumulator and operands."""
    names = ("accumulator", "a", "b")
    return [(dtype(getattr(atom, n).dtype), parse_layout(atom.layout(n))) for n in names]


def program(atom):
    wrapper, text = mma_wrapper(atom)
    sizes = [lay.values * dt.storage_bits // 8 for dt, lay in parts(atom)]
    c, a, b = sizes
    return PRODUCT.format(c=c, a=a, b=b, wrapper=wrapper), {wrapper: text}


def exact_elements(dt, shape, rng):
    """Values whose products and sums are exact in any order; any value at all of integers."""
    if dt.is_int:
        low = 0 if dt.name[0] == "u" else -(1 << dt.bits - 1)
        return rng.randint(low, low + (1 << dt.bits), shape, np.int64).astype(to_numpy_dtype(dt))
    most = LARGEST.get(dt.name, 8)
    scale = 1.0 if dt.bits < 16 else 0.5
    whole = rng.randint(-most, most + 1, shape) * scale
    return convert_array(whole.astype(np.float64).astype(np.float32), f32, dt)


@pytest.mark.parametrize("name", sorted(ATOMS))
def test_products(agree, rng, name):
    text, own = program(ATOMS[name])
    given = [pack(exact_elements(dt, 32 * lay.values, rng), dt) for dt, lay in parts(ATOMS[name])]
    (out,) = agree(text, given, [np.zeros_like(given[0])], own=own)
    assert not np.array_equal(out, given[0])


def test_low_bits_of_tf32_are_ignored(agree, rng):
    """A register of 32 bits holds an element of 19."""
    atom = ATOMS["m16n8k8_tf32"]
    text, own = program(atom)
    (c_kind, c), *rest = parts(atom)
    given = [pack(exact_elements(c_kind, 32 * c.values, rng), c_kind)]
    for _, layout in rest:
        words = (rng.randint(-8, 9, 32 * layout.values) * 0.5).astype(np.float32).view(np.uint32)
        given.append(words | rng.randint(0, 1 << 13, words.size).astype(np.uint32))
    agree(text, given, [np.zeros_like(given[0])], own=own)


@pytest.mark.parametrize("name", sorted(n for n, a in ATOMS.items() if dtype(a.a.dtype).is_float))
def test_products_of_general_values(launch, rng, name):
    """Within the stated error of the sum in f64, on both machines; not bit for bit."""
    atom = ATOMS[name]
    text, own = program(atom)
    tiles, given = [], []
    for (dt, layout), axes in zip(parts(atom), AXES, strict=True):
        extents = [getattr(atom, axis) for axis in axes]
        tile = convert_array(rng.standard_normal(extents).astype(np.float32), f32, dt)
        tiles.append(tile.astype(np.float64))
        given.append(pack(held(layout, tile, axes), dt))
    (raw,) = launch(text, given, [np.zeros_like(given[0])], own=own)
    kind, layout = parts(atom)[0]
    out = unpack(raw, kind, (32, layout.values)).astype(np.float64)
    c, a, b = tiles
    want = held(layout, c + a @ b, "mn")
    size = held(layout, np.abs(c) + np.abs(a) @ np.abs(b), "mn")
    allowed = PRECISION.get(kind.name, PRECISION.get(atom.a.dtype, 2.0**-21))
    assert np.max(np.abs(out - want) / size) <= allowed


def held(layout, tile, axes):
    """(thread, value) -> element, of a tile whose axes are named by letters."""
    made = np.empty((32, layout.values), tile.dtype)
    for at in np.ndindex(*tile.shape):
        for thread, value in layout.owners(tuple(at[axes.index(axis)] for axis in layout.outputs)):
            made[thread, value] = tile[at]
    return made


LOAD = """
extern "C" __global__ void k(const uint4 *tiles, const int *rows, unsigned *out) {{
  __shared__ alignas(16) uint4 s[64];
  int t = threadIdx.x;
  s[t] = tiles[t], s[t + 32] = tiles[t + 32];
  __syncwarp();
  unsigned r[{count}];
  tile_ldmatrix{trans}_x{count}(r, &s[rows[t]]);
  for (int i = 0; i < {count}; i++) out[t * {count} + i] = r[i];
}}
"""
STORE = """
extern "C" __global__ void k(const unsigned *registers, const int *rows, uint4 *out) {{
  __shared__ alignas(16) uint4 s[64];
  int t = threadIdx.x;
  s[t] = s[t + 32] = make_uint4(0, 0, 0, 0);
  __syncwarp();
  unsigned r[{count}];
  for (int i = 0; i < {count}; i++) r[i] = registers[t * {count} + i];
  tile_stmatrix{trans}_x{count}(&s[rows[t]], r);
  __syncwarp();
  out[t] = s[t], out[t + 32] = s[t + 32];
}}
"""


@pytest.mark.parametrize("trans", ["", "_trans"], ids=["plain", "trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_rows_to_registers(agree, rng, count, trans):
    """Rows lie anywhere; lanes without a row of their own name one too."""
    tiles = words(rng, 64 * 4)
    rows = rng.permutation(64)[:32].astype(np.int32)
    (out,) = agree(
        LOAD.format(count=count, trans=trans), [tiles, rows], [np.zeros(32 * count, np.uint32)]
    )
    first = tiles.reshape(64, 4).view(np.uint16)[rows[:8]]
    low, high = (first.T if trans else first)[0, :2].tolist()
    assert out[0] == low | high << 16


@pytest.mark.parametrize("trans", ["", "_trans"], ids=["plain", "trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_registers_to_rows(agree, rng, count, trans):
    rows = rng.permutation(64)[:32].astype(np.int32)
    registers = words(rng, 32 * count)
    (out,) = agree(
        STORE.format(count=count, trans=trans), [registers, rows], [np.zeros(64 * 4, np.uint32)]
    )
    assert np.count_nonzero(out.reshape(64, 4).any(1)) == 8 * count


def words(rng, count):
    return rng.randint(0, 1 << 32, count, np.uint64).astype(np.uint32)
