"""Tensors that are written past the caches: which, from which size on, and that the numbers are
those of plain stores."""

import dataclasses

import numpy as np
import pytest

from tile_cpu import spec
from tile_cpu.driver import build, compile_function
from tile_ir.text import parse_function


def with_cache(arch, size):
    """A description whose last-level cache has `size` bytes."""
    found = spec.load(arch)
    l3 = dataclasses.replace(found.scopes["l3"], bytes=size)
    return dataclasses.replace(found, scopes=type(found.scopes)({**found.scopes, "l3": l3}))


ROWS = """
alloc x: fragment KIND[2, 64]
copy A[bx * 2 : +2, 0 : +64] -> x[:, :] clip
MORE
copy x[:, :] -> B[bx * 2 : +2, 0 : +64] clip
"""


def rows(m="M", n="64", kind="f32", more=""):
    body = ROWS.replace("KIND", kind).replace("MORE", more).replace("64", n).strip()
    lines = "\n".join(f"      {line}" for line in body.splitlines())
    dims = " dims (M)" if m == "M" else ""
    return parse_function(
        f"tile.ir 1.0 tile\nfunc @f(A: global {kind}[{m}, {n}], B: global {kind}[{m}, {n}])"
        f"{dims} results (B) {{\n  kernel @k {{\n    tiles (bx) in (ceildiv({m}, 2)) {{\n"
        f"{lines}\n    }}\n  }}\n}}\n"
    )


def text_of(fn, size=1 << 12, arch="znver4"):
    source = compile_function(fn, with_cache(arch, size)).source
    return source[source.index("k_job(void") :]


@pytest.mark.parametrize(("m", "past"), [("8", True), ("7", False)])
def test_from_half_of_the_last_level_on(m, past):
    text = text_of(rows(m))
    assert (", 1);" in text and "tile_stream_f32x16(&B[" in text) is past
    assert "tile_past" not in text


def test_a_size_that_the_launch_knows_is_asked_there():
    text = text_of(rows())
    assert "const int32_t tile_past_B = M * 256 >= 2048;" in text
    assert text.count("tile_past_B);") == text.count("tile_stream_f32x16(&B[")


@pytest.mark.parametrize(
    "more",
    [
        "parallel (i, j) in (2, 64) { store x[i, j] = x[i, j] + B[bx * 2 + i, j] }",
        "atomic add A[0, 0], 1.0 order = release",
        "atomic add B[0, 0], 1.0",
    ],
    ids=["read", "told to others", "added to"],
)
def test_a_tensor_that_somebody_looks_at_meanwhile_stays_in_the_caches(more):
    assert "tile_stream" not in text_of(rows("64", more=more))


def test_parts_of_lines_stay_in_the_caches():
    assert "tile_stream" not in text_of(rows("256", n="8"))
    assert "tile_stream" in text_of(rows("256", n="32"))


NUMPY = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "bool": np.bool_}
VECTORS = {"znver4": list(NUMPY), "x86-64-v3": ["f32", "f16"], "x86-64-v2": ["f32"]}
"""Description -> types of which a vector has the 16 bytes of the smallest such store."""


@pytest.mark.parametrize(
    ("arch", "kind"), [(arch, kind) for arch, kinds in VECTORS.items() for kind in kinds]
)
def test_the_numbers_are_the_same_at_any_address(kind, arch):
    machine = with_cache(arch, 1 << 10)
    made = compile_function(rows(kind=kind, n="256"), machine)
    assert f"tile_stream_{'u8' if kind == 'bool' else kind}x" in made.source
    launch = build(made, machine, 2)
    dtype = np.dtype(NUMPY[kind])
    for m, shift in ((1, 0), (9, 0), (9, 1), (40, 8), (40, 0)):
        given = np.random.default_rng(m).integers(0, 2, (m, 256)).astype(dtype)
        room = np.zeros(given.nbytes + 256, np.uint8)
        first = -room.ctypes.data % 64 + shift * dtype.itemsize
        launch(given.ctypes.data, room.ctypes.data + first, m)
        got = room[first : first + given.nbytes].view(dtype).reshape(m, 256)
        np.testing.assert_array_equal(got, given)
        assert not room[:first].any()
        assert not room[first + given.nbytes :].any()
