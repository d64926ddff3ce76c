"""Metal source: matrices of simdgroups with the layouts of the descriptions, exchanges, atomics,
mistakes."""

import numpy as np
import pytest

from tile_cpu.emulator import options
from tile_ir.diag import TileError
from tile_ir.layout import parse_layout
from tile_ir.numerics.array import convert_array
from tile_ir.types import dtype, f32
from tile_metal import spec
from tile_metal.intrinsics.matrix import matrix_function

FAMILIES = ("apple7", "apple9")
ATOMS = [(arch, name) for arch in FAMILIES for name in sorted(spec.load(arch).matrix)]
WORDS = {"f16": "ushort", "bf16": "ushort", "f32": "float"}
"""Type -> that of a register in the source."""


def held(layout, tile, axes):
    """Registers of all lanes: (lane, value)."""
    found = np.empty((layout.threads, layout.values), tile.dtype)
    for at in np.ndindex(*tile.shape):
        for lane, value in layout.owners(tuple(at[axes.index(x)] for x in layout.outputs)):
            found[lane, value] = tile[at]
    return found


@pytest.mark.parametrize(("arch", "name"), ATOMS)
def test_matrices_of_a_simdgroup(from_metal, arch, name):
    target = spec.load(arch)
    atom = target.matrix[name]
    operands = (atom.a, atom.b, atom.accumulator)
    a_word, b_word, c_word = (WORDS[o.dtype] for o in operands)
    body = f"""TILE_KERNEL(32) k(
    device {c_word} *c [[buffer(0)]],
    const device {a_word} *a [[buffer(1)]],
    const device {b_word} *b [[buffer(2)]],
    TILE_PLACE) {{
  {c_word} x[2] = {{c[2 * lane_index], c[2 * lane_index + 1]}};
  {a_word} y[2] = {{a[2 * lane_index], a[2 * lane_index + 1]}};
  {b_word} z[2] = {{b[2 * lane_index], b[2 * lane_index + 1]}};
  {matrix_function(atom, target)}(x, y, z);
  c[2 * lane_index] = x[0];
  c[2 * lane_index + 1] = x[1];
}}
"""
    rng = np.random.default_rng(1)
    kinds = [dtype(o.dtype) for o in operands]
    tiles = [
        convert_array(rng.integers(-4, 5, (8, 8)).astype(np.float32), f32, kind) for kind in kinds
    ]
    layouts = [parse_layout(atom.layout(o)) for o in ("a", "b", "accumulator")]
    a, b, c = (held(*row) for row in zip(layouts, tiles, ("mk", "kn", "mn"), strict=True))
    counted = from_metal(body, 3, arch=arch)(c, a, b)
    wide = [t.astype(np.float64) for t in tiles]
    want = wide[2] + wide[0] @ wide[1]
    assert np.array_equal(c.astype(np.float64), held(layouts[2], want, "mn"))
    assert counted["multiply_adds"] == 512


@pytest.mark.parametrize("kind", ["int", "short", "long"])
def test_exchanges_of_lanes(from_metal, kind):
    body = f"""TILE_KERNEL(32) k(
    device {kind} *out [[buffer(0)]], const device {kind} *in [[buffer(1)]], TILE_PLACE) {{
  const {kind} x = in[thread_index];
  out[thread_index] = tile_shuffle_xor(x, 5);
  out[thread_index + 32] = tile_shuffle_idx(x, 7);
}}
"""
    x = (np.arange(32) * 19 + 2).astype({"int": "i4", "short": "i2", "long": "i8"}[kind])
    out = np.zeros(64, x.dtype)
    from_metal(body, 2)(out, x)
    assert np.array_equal(out[:32], x[np.arange(32) ^ 5])
    assert (out[32:] == x[7]).all()


@pytest.mark.parametrize("place", ["out", "(threadgroup int *)arena"])
def test_atomics(from_metal, place):
    body = f"""TILE_KERNEL(128) k(device int *out [[buffer(0)]], TILE_PLACE) {{
  TILE_ARENA(arena, 64);
  auto sum = {place};
  if (thread_index == 0) *sum = 0;
  tile_sync();
  tile_atomic_add<int>(sum, (int)thread_index);
  tile_sync();
  if (thread_index == 0) *out = *sum;
}}
"""
    out = np.full(1, 9, np.int32)
    assert from_metal(body, 1, 128, 64)(out)["atomics"] == 128
    assert out[0] == sum(range(128))


def reversed_rows(barrier, guard="true", index="127 - thread_index"):
    return f"""TILE_KERNEL(128) k(
    device int *out [[buffer(0)]], const device int *in [[buffer(1)]], TILE_PLACE) {{
  TILE_ARENA(arena, 512);
  threadgroup int *const s = (threadgroup int *)arena;
  // user.py:5: store
  if ({guard}) s[thread_index] = in[thread_index];
  {barrier}
  // user.py:8: load
  out[thread_index] = s[{index}];
}}
"""


@pytest.mark.parametrize("schedule", ["round-robin", "reverse", "random"])
def test_threadgroup_memory(from_metal, schedule):
    x, out = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    with options(schedule=schedule):
        from_metal(reversed_rows("tile_sync();"), 2, 128, 512)(out, x)
    assert np.array_equal(out, x[::-1])


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (reversed_rows(""), "E2305", 8),
        (reversed_rows("tile_simdgroup_sync();"), "E2305", 8),
        (reversed_rows("tile_sync(); if (thread_index < 5) s[0] = 1;"), "E2306", 5),
        (reversed_rows("tile_sync();", guard="thread_index != 9"), "E2305", 8),
        (reversed_rows("tile_sync();", index="thread_index + 1"), "E2303", 8),
        (
            reversed_rows("if (thread_index < 5) tile_sync();", index="thread_index"),
            "E2308",
            5,
        ),
        (reversed_rows("tile_sync();").replace("s[127", "in[128 + 127"), "E2303", 8),
    ],
)
def test_mistakes(from_metal, text, code, line):
    run = from_metal(text, 2, 128, 512)
    with pytest.raises(TileError) as caught:
        run(np.zeros(128, np.int32), np.arange(128, dtype=np.int32))
    assert (caught.value.code, caught.value.span.line) == (code, line)


def test_a_pointer_of_another_address_space(from_metal):
    text = reversed_rows("tile_sync();").replace("(threadgroup int *)arena", "&in[0]")
    with pytest.raises(TileError) as caught:
        from_metal(text, 2, 128, 512)
    assert caught.value.code == "E0802"
