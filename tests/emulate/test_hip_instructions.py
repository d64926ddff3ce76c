"""Instructions of waves: matrix products with the layouts that the descriptions state, exchanges
between lanes, 8-bit floats, atomics."""

import numpy as np
import pytest

from tile_ir.layout import parse_layout
from tile_ir.numerics.array import convert_array, pack, to_numpy_dtype, unpack
from tile_ir.types import dtype, f32
from tile_rocm import spec
from tile_rocm.intrinsics.matrix import matrix_wrapper

ATOMS = [(arch, name) for arch in spec.names() for name in sorted(spec.load(arch).matrix)]
WAVES = ["gfx942", "gfx1100"]


def random_tile(kind, shape, rng):
    dt = dtype(kind)
    if dt.is_int:
        low, high = (0, 16) if kind[0] == "u" else (-8, 8)
        return rng.integers(low, high, shape).astype(to_numpy_dtype(dt))
    return convert_array(rng.integers(-4, 5, shape).astype(np.float32), f32, dt)


def registers(layout, tile, axes, dt):
    """The bytes of every lane's registers, lane after lane; `axes` are those of `tile`."""
    held = np.empty((layout.threads, layout.values), tile.dtype)
    for at in np.ndindex(*tile.shape):
        for thread, value in layout.owners(tuple(at[axes.index(x)] for x in layout.outputs)):
            held[thread, value] = tile[at]
    return np.ascontiguousarray(pack(held.reshape(-1), dt))


@pytest.mark.parametrize(("arch", "name"), ATOMS)
def test_products_of_a_wave(from_hip, arch, name):
    atom = spec.load(arch).matrix[name]
    wrapper, text = matrix_wrapper(atom)
    kinds = [dtype(o.dtype) for o in (atom.a, atom.b, atom.accumulator)]
    layouts = [parse_layout(atom.layout(o)) for o in ("a", "b", "accumulator")]
    sizes = [lay.values * dt.storage_bits // 8 for lay, dt in zip(layouts, kinds, strict=True)]
    copies = "\n".join(
        f"  alignas(64) char r{n}[{size}]; for (int i = 0; i < {size}; i++)"
        f" r{n}[i] = {n}[tile_thread() * {size} + i];"
        for n, size in zip("abc", sizes, strict=True)
    )
    body = f"""TILE_KERNEL({atom.threads}) void k(char *c, const char *a, const char *b) {{
{copies}
  {wrapper}(rc, ra, rb);
  for (int i = 0; i < {sizes[2]}; i++) c[tile_thread() * {sizes[2]} + i] = rc[i];
}}
"""
    run = from_hip(body, 3, atom.threads, arch=arch, own={wrapper: text})
    rng = np.random.default_rng(5)
    shapes = [(atom.m, atom.k), (atom.k, atom.n), (atom.m, atom.n)]
    tiles = [random_tile(dt.name, shape, rng) for dt, shape in zip(kinds, shapes, strict=True)]
    rows = zip(layouts, tiles, ("mk", "kn", "mn"), kinds, strict=True)
    a, b, c = (registers(*row) for row in rows)
    counted = run(c, a, b)
    got = unpack(c, kinds[2], (atom.threads, layouts[2].values))
    wide = [t.astype(np.float64) for t in tiles]
    want = wide[2] + wide[0] @ wide[1]
    assert counted["multiply_adds"] == atom.m * atom.n * atom.k
    for at in np.ndindex(*want.shape):
        place = tuple(at["mn".index(axis)] for axis in layouts[2].outputs)
        for thread, value in layouts[2].owners(place):
            assert float(got[thread, value]) == want[at]


@pytest.mark.parametrize("arch", WAVES)
@pytest.mark.parametrize("kind", ["int", "double", "short"])
def test_exchanges_of_lanes(from_hip, arch, kind):
    width = spec.load(arch).warp_width
    masks = [1, 2, 3, 4, 7, 8, 15, 16, 31, *([32] if width == 64 else [])]
    lines = "\n".join(
        f"  out[{2 * n} * {width} + t] = tile_shuffle_xor_by<{mask}>(x);\n"
        f"  out[{2 * n + 1} * {width} + t] = tile_shuffle_xor(x, {mask});"
        for n, mask in enumerate(masks)
    )
    body = f"""TILE_KERNEL({width}) void k({kind} *out, const {kind} *in) {{
  const int t = tile_thread();
  const {kind} x = in[t];
{lines}
  out[{2 * len(masks)} * {width} + t] = tile_shuffle_idx(x, 5);
}}
"""
    element = {"int": np.int32, "double": np.float64, "short": np.int16}[kind]
    x = (np.arange(width) * 17 + 3).astype(element)
    out = np.zeros((2 * len(masks) + 1, width), element)
    from_hip(body, 2, width, arch=arch)(out, x)
    for n, mask in enumerate(masks):
        want = x[np.arange(width) ^ mask]
        assert np.array_equal(out[2 * n], want)
        assert np.array_equal(out[2 * n + 1], want)
    assert (out[-1] == x[5]).all()


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        ("gfx942", "f8e4m3fnuz"),
        ("gfx942", "f8e5m2fnuz"),
        ("gfx950", "f8e4m3fn"),
        ("gfx950", "f8e5m2"),
        ("gfx1100", "f8e4m3fn"),
    ],
)
def test_8_bit_floats(from_hip, arch, name):
    """Every code, and numbers between, beyond and far below them."""
    body = f"""TILE_KERNEL(256) void k(float *out, unsigned char *codes, const float *in) {{
  const int t = tile_block() * 256 + tile_thread();
  if (t < 256) out[t] = tile_{name}_to_f32((unsigned char)t);
  codes[t] = tile_f32_to_{name}(in[t]);
}}
"""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(1024) * 2.0 ** rng.integers(-20, 20, 1024)).astype(np.float32)
    x[:5] = (np.nan, np.inf, -np.inf, 0.0, -0.0)
    out, codes = np.zeros(256, np.float32), np.zeros(1024, np.uint8)
    from_hip(body, 3, 256, blocks=4, arch=arch)(out, codes, x)
    kind = dtype(name)
    every = np.arange(256, dtype=np.uint8)
    values = unpack(every, kind, (256,)).astype(np.float32)
    assert np.array_equal(out, values, equal_nan=True)
    want = pack(convert_array(x, f32, kind), kind).view(np.uint8)
    known = ~np.isnan(x)
    assert np.array_equal(codes[known], want[known])
    assert np.isnan(out[codes[0]])


@pytest.mark.parametrize(
    ("kind", "element", "op", "want"),
    [
        ("int", np.int32, "add", sum(range(128))),
        ("float", np.float32, "add", sum(range(128))),
        ("double", np.float64, "max", 127),
        ("unsigned", np.uint32, "xor", 0),
        ("long long", np.int64, "min", 0),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_atomics(from_hip, kind, element, op, want, shared):
    place = f"({kind} *)arena" if shared else "out"
    body = f"""TILE_KERNEL(128) void k({kind} *out) {{
  TILE_SHARED unsigned char arena[64];
  const int t = tile_thread();
  {kind} *const place = {place};
  if (t == 0) *place = 0;
  tile_sync();
  tile_atomic_{op}(place, ({kind})t);
  tile_sync();
  if (t == 0) *out = *place;
}}
"""
    out = np.full(1, 77, element)
    counted = from_hip(body, 1, 128, 64)(out)
    assert out[0] == want
    assert counted["atomics"] == 128


def test_an_atomic_operation_of_a_narrow_type(from_hip):
    body = """TILE_KERNEL(128) void k(unsigned short *out) {
  tile_atomic_loop(&out[1], [](unsigned short old) { return (unsigned short)(old + 3); });
}
"""
    out = np.array([7, 1, 9, 11], np.uint16)
    from_hip(body, 1, 128)(out)
    assert out.tolist() == [7, 385, 9, 11]


def test_a_narrow_atomic_at_the_end_of_a_tensor(from_hip):
    """Its word is aligned, and half of it lies behind the tensor."""
    body = """TILE_KERNEL(128) void k(unsigned short *out) {
  tile_atomic_loop(&out[2], [](unsigned short old) { return (unsigned short)(old + 1); });
}
"""
    room = np.array([7, 1, 9, 77], np.uint16)
    from_hip(body, 1, 128)(room[:3])
    assert room.tolist() == [7, 1, 137, 77]
