"""What an emulator is told of a function: memory of the arguments, places of lines, entries."""

import pytest

from tile_ir.text import parse_function
from tile_passes.launch.emulated import (
    emulated_kernel,
    entry_text,
    line_places,
    regions_text,
    user_places,
)


def test_regions_end_at_the_last_element():
    fn = parse_function(
        "func @f(A: global f16[M, N] strides (2 * N, 1), B: global f32[M]) dims (M, N) {\n"
        "  kernel @f threads = (32) {\n    store B[0] = f32(A[0, 0])\n  }\n}"
    )
    namespace = {}
    exec(regions_text(fn), namespace)
    assert namespace["regions"](1000, 2000, 3, 8) == [
        ("A", 1000, 2 * (2 * 16 + 8), False, ()),
        ("B", 2000, 12, True, ("late",)),
    ]
    assert [size for _, _, size, *_ in namespace["regions"](1, 2, 0, 8)] == [0, 0]


def test_what_more_there_is_to_say_of_regions():
    fn = parse_function(
        "func @f(A: global f32[4], B: global f32[4]) results (B) {\n"
        "  kernel @f dependent, unwritten = (A) {\n    store B[0] = A[0]\n  }\n}"
    )
    namespace = {}
    exec(regions_text(fn), namespace)
    words = [row[4] for row in namespace["regions"](1, 2)]
    assert words == [("early",), ("result", "late")]


def test_a_line_belongs_to_the_comment_above_it():
    source = "start\n// user.py:7: fill\nx = 0;\ny = 1;\n  // other.py:9\nz = 2;"
    places = user_places(source, {"user.py": "/there/user.py"})
    assert places == ["", *["/there/user.py:7"] * 3, *["other.py:9"] * 2]
    assert line_places(source, None)[4] == ("", 4, "y = 1;", "user.py:7")


@pytest.mark.parametrize(
    ("more", "values"), [("", "*(int *)(parameters + 8)"), ("7", "*(int *)(parameters + 8), 7")]
)
def test_a_kernel_is_entered_with_what_lies_in_its_slots(more, values):
    kernel = emulated_kernel("f", 2)
    assert kernel.parameters == ((0, 8), (8, 8))
    text = entry_text("f", ["const float *", "int"], more)
    assert f"void {kernel.entry}(struct emu_thread *t" in text
    assert f"emitted::f(*(const float * *)(parameters + 0), {values})" in text
