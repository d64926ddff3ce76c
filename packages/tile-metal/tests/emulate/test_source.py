"""Metal source as text for the emulator, without compiling it."""

from tile_metal.emulate.source import source_of

SOURCE = """#include <metal_stdlib>
#define TILE_PLACE \\
  uint thread_index [[thread_index_in_threadgroup]]

TILE_KERNEL(128) first(
    const device ushort *A [[buffer(0)]],
    constant int &n [[buffer(1)]],
    TILE_PLACE) {
  TILE_ARENA(arena, 64);
  // user.py:3: load
  n;
}

TILE_KERNEL(32) second(TILE_PLACE) {
}
"""


def test_kernels_and_lines_are_found():
    made = source_of(SOURCE, "host", "regions")
    assert [(k.name, k.entry, k.parameters) for k in made.kernels] == [
        ("first", "kernel_first", ((0, 8), (8, 8))),
        ("second", "kernel_second", ()),
    ]
    assert made.places[11] == ("", 11, "n;", "user.py:3")
    lines = made.code.split('#line 1 "kernel"\n')[1].split("\n")
    assert lines[:4] == ["", "", "", ""]
    assert lines[6] == "    int n,"
    assert "emitted::first(*(const device ushort * *)(parameters + 0)," in made.code
    assert "emitted::second(metal_thread(), emu_lane()" in made.code
