"""The layouts that kernels are made of, element by element against their formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tile_ir.layout import (
    Axis,
    Digit,
    FragmentLayout,
    Swizzle,
    TileLayout,
    coalesce,
    compose,
    conversion,
    convert_kind,
    from_function,
    panels,
    parse_digits,
    parse_layout,
    project,
    recognise,
    rename,
    replicated,
    restrict,
    row_major,
    split,
    tabulate,
    vector_elements,
)

A_S = "m (128:64) k (64:1) swizzle<3,4,3>"
B_S = "k (64:64) n (64:1, 4:4096) swizzle<3,4,3>"
ACCUMULATOR = "thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, 32:n*8)"
A_OPERAND = "thread (4:k*2, 8:m*1, 4:m*16) value (2:k*1, 2:m*8, 2:k*8)"
ROW_STATISTICS = "thread (4:-, 8:m*1, 4:m*16) value (2:m*8)"


@pytest.mark.parametrize(
    "text",
    [
        A_S,
        B_S,
        ACCUMULATOR,
        A_OPERAND,
        ROW_STATISTICS,
        "m (64:1) k (64:64) swizzle<3,4,3>",
        "k (64:64) n (64:1, 4:4096)",
        "group (2:m*64) thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, 32:n*8)",
        "thread (4:n*2, 8:k*1) value (2:n*1) -> (n, k)",
        "map m 2 n 4 -> offset 8 [0+8]",
        "map thread 4 value 2 -> n 10 [7*3, -1, 0, 2+3]",
        "offset (64:n*1, 64:k*1, 4:n*64)",
        "offset (64:n*1, 64:k*1, 4:n*64) -> (n, k)",
        "()",
    ],
)
def test_the_canonical_text_is_printed_as_read(text):
    assert str(parse_layout(text)) == text


def test_text_becomes_values():
    assert parse_layout("m (128:64) k (64:1) swizzle<3,4,3>") == TileLayout(
        inputs=(Axis("m", (Digit(128, "offset", 64),)), Axis("k", (Digit(64, "offset", 1),))),
        swizzle=Swizzle(3, 4, 3),
    )
    assert parse_layout(" thread(4:-,8:m*1,4:m*16)  value( 2 : m * 8 )") == FragmentLayout(
        thread=(Digit(4), Digit(8, "m", 1), Digit(4, "m", 16)),
        value=(Digit(2, "m", 8),),
        outputs=("m",),
    )
    assert parse_digits("(4:n*2, 8:-)") == (Digit(4, "n", 2), Digit(8))


def test_axes_and_shapes():
    b = parse_layout(B_S)
    assert (b.axes, b.shape) == (("k", "n"), (64, 256))
    c = parse_layout(ACCUMULATOR)
    assert isinstance(c, FragmentLayout)
    assert (c.axes, c.shape) == (("m", "n"), (64, 256))
    assert (c.groups, c.threads, c.values, c.replication) == (1, 128, 128, 1)


def test_accumulator_places():
    layout = parse_layout(ACCUMULATOR)
    for t, j, e in itertools.product(range(128), range(32), range(4)):
        warp, lane = divmod(t, 32)
        row = 16 * warp + lane // 4 + 8 * (e >> 1)
        column = 8 * j + 2 * (lane % 4) + (e & 1)
        assert layout.coord(t, 4 * j + e) == (row, column)
        if t % 8 == j % 8:
            assert layout.owners((row, column)) == ((t, 4 * j + e),)


def test_register_operand_places():
    layout = parse_layout(A_OPERAND)
    assert layout.axes == ("m", "k")
    for t, register, half in itertools.product(range(128), range(4), range(2)):
        warp, lane = divmod(t, 32)
        row = 16 * warp + lane // 4 + 8 * (register & 1)
        k = 2 * (lane % 4) + half + 8 * (register >> 1)
        assert layout.coord(t, 2 * register + half) == (row, k)


def test_row_statistics_are_held_by_four_lanes():
    layout = parse_layout(ROW_STATISTICS)
    assert layout == project(parse_layout(ACCUMULATOR), "n")
    assert isinstance(layout, FragmentLayout)
    assert layout.replica_terms() == (("thread", 1, 4),)
    assert layout.owners((17,)) == ((36, 0), (37, 0), (38, 0), (39, 0))
    assert layout.owners((25,)) == ((36, 1), (37, 1), (38, 1), (39, 1))


def test_swizzled_rows_exchange_their_chunks():
    layout = parse_layout(A_S)
    for r, c in itertools.product(range(128), range(64)):
        expected = r * 128 + (((c >> 3) ^ (r & 7)) << 4) + (c & 7) * 2
        assert layout.byte_offset((r, c), 16) == expected
        assert layout.offset((r, c), 16) == expected // 2
    assert layout.cosize(16) == 128 * 64
    assert layout.swizzle.alignment == 1024


def test_column_tiles_follow_one_another():
    layout = parse_layout(B_S)
    for k, n in itertools.product(range(64), range(256)):
        column, c = divmod(n, 64)
        expected = column * 8192 + k * 128 + (((c >> 3) ^ (k & 7)) << 4) + (c & 7) * 2
        assert layout.byte_offset((k, n), 16) == expected


def test_panels_are_columns_and_packed_operands():
    swizzled = panels(
        (64, 256), ("k", "n"), along="n", width=64, swizzle=Swizzle(bits=3, base=4, shift=3)
    )
    assert str(swizzled) == B_S
    assert str(panels((64, 64), ("m", "k"), along="m", width=64)) == "m (64:1) k (64:64)"
    a = panels((130, 48), ("m", "k"), along="m", width=14)
    assert str(a) == "m (14:1, 10:672) k (48:14)"
    b = panels((48, 96), ("k", "n"), along="n", width=32)
    assert str(b) == "k (48:32) n (32:1, 3:1536)"
    for m, k in itertools.product(range(130), range(48)):
        assert a.offset((m, k)) == (m // 14) * 14 * 48 + k * 14 + m % 14
    pairs = panels((28, 7), ("m", "k"), along="m", width=14, interleave=2)
    assert str(pairs) == "m (14:2, 2:112) k (2:1, 4:28)"
    for m, k in itertools.product(range(28), range(7)):
        assert pairs.offset((m, k)) == (m // 14) * 112 + (k // 2) * 28 + m % 14 * 2 + k % 2


def test_two_groups_share_the_rows():
    whole = split(parse_layout(ACCUMULATOR), "m", 2)
    assert str(whole) == (
        "group (2:m*64) thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, 32:n*8)"
    )
    assert (whole.axes, whole.shape) == (("m", "n"), (128, 256))
    assert whole.coord(37, 5, 1) == (17 + 64, 11)
    assert whole.owners((81, 11)) == ((1, 37, 5),)
    assert whole.per_group() == parse_layout(ACCUMULATOR)
    rows = restrict(parse_layout(A_S), "m", 64)
    assert str(rows) == "m (64:64) k (64:1) swizzle<3,4,3>"


def test_fragment_in_memory_gives_vectors():
    memory = parse_layout("m (64:64) n (64:1, 4:4096) swizzle<3,4,3>")
    access = compose(memory, parse_layout(ACCUMULATOR))
    assert (
        str(access) == "thread (4:2, 8:64, 4:1024) value (2:1, 2:512, 8:8, 4:4096) swizzle<3,4,3>"
    )
    for t, v in itertools.product(range(0, 128, 5), range(128)):
        place = parse_layout(ACCUMULATOR).coord(t, v)
        assert access.offset((t, v), 16) == memory.offset(place, 16)
    assert vector_elements(access, 16, 8) == 2
    rows = parse_layout("thread (8:n*8, 16:m*1) value (8:n*1)")
    assert vector_elements(compose(row_major((16, 64), ("m", "n")), rows), 16, 8) == 8
    padded = compose(row_major((16, 64), ("m", "n"), pad=4), rows)
    assert vector_elements(padded, 16, 8) == 4
    assert vector_elements(tabulate(padded), 16, 8) == 1


def test_accumulator_becomes_the_next_operand_without_moving():
    """Step kk of k reads d[8*kk : 8*kk + 8]: registers are renamed, nothing moves."""
    scores = rename(parse_layout(ACCUMULATOR), {"n": "k"})
    step = parse_layout(A_OPERAND)
    assert convert_kind(scores, step) == "rename"
    whole = parse_layout(A_OPERAND.replace("2:k*8)", "2:k*8, 16:k*16)"))
    assert convert_kind(scores, whole) == "identity"
    assert coalesce(whole) == scores
    swapped = parse_layout("thread (4:k*2, 8:m*1, 4:m*16) value (2:m*8, 2:k*1, 32:k*8)")
    found = conversion(scores, swapped)
    assert found.kind == "rename"
    assert str(found.source) == (
        "thread (128:thread*1) value (2:value*2, 2:value*1, 32:value*4) -> (thread, value)"
    )


def test_conversions_between_threads():
    rows = parse_layout("thread (4:n*1, 8:m*1) value (2:m*8)")
    turned = parse_layout("thread (8:m*1, 4:n*1) value (2:m*8)")
    assert convert_kind(rows, turned, warp_width=32) == "shuffle"
    assert convert_kind(rows, turned, warp_width=16) == "shared"
    assert convert_kind(rows, turned) == "shared"
    assert str(conversion(rows, turned, warp_width=32).source) == (
        "thread (8:thread*4, 4:thread*1) value (2:value*1) -> (thread, value)"
    )
    gathered = parse_layout("thread (4:-, 8:m*1) value (2:m*8, 4:n*1)")
    assert convert_kind(rows, gathered, warp_width=32) == "shuffle"
    # The value's register would depend on the thread.
    assert convert_kind(gathered, rows, warp_width=32) == "shared"
    table = tabulate(rows)
    assert convert_kind(table, table) == "identity"
    assert convert_kind(table, rows) == "shared"
    larger = parse_layout("thread (4:n*1, 8:m*1) value (4:m*8)")
    assert convert_kind(rows, larger, warp_width=32) == "shared"


def test_copies_serve_their_own_thread():
    everywhere = replicated((4,), ("m",), threads=32)
    assert str(everywhere) == "thread (32:-) value (4:m*1)"
    reversed_values = parse_layout("thread (32:-) value (2:m*2, 2:m*1)")
    found = conversion(everywhere, reversed_values)
    assert found.kind == "rename"
    assert str(found.source) == (
        "thread (32:thread*1) value (2:value*2, 2:value*1) -> (thread, value)"
    )


@pytest.mark.parametrize("columns", [80, 144, 192])
def test_columns_that_are_no_power_of_two(columns):
    text = f"thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, {columns // 8}:n*8)"
    layout = parse_layout(text)
    assert layout.shape == (64, columns)
    access = compose(row_major((64, columns), ("m", "n"), pad=8), layout)
    for t, v in itertools.product(range(128), range(columns // 2)):
        m, n = layout.coord(t, v)
        assert access.offset((t, v)) == m * (columns + 8) + n
    assert str(access).startswith(f"thread (4:2, 8:{columns + 8}, 4:{16 * (columns + 8)}) value")


def test_index_functions_are_recognised():
    def exchanged(i: int, j: int) -> int:
        return i * 64 + ((j // 8) ^ (i % 8)) * 8 + j % 8

    found = from_function((128, 64), exchanged, ("m", "k"), element_bits=16)
    assert str(found) == A_S
    pair = from_function((64, 256), lambda k, n: (n // 64, k, n % 64), ("k", "n"))
    assert str(pair) == "k (64:64) n (64:1, 4:4096)"
    assert recognise(tabulate(parse_layout(ACCUMULATOR))) == parse_layout(ACCUMULATOR)


def test_whole_arrays_of_coordinates_are_evaluated_at_once():
    layout = parse_layout(B_S)
    k, n = np.meshgrid(np.arange(64), np.arange(256), indexing="ij")
    linear = layout.evaluate((k, n))[0]
    assert linear.shape == (64, 256)
    assert linear[3, 200] == 3 * 4096 + 3 * 64 + 8
    placed = layout.offset((k, n), 16)
    assert placed[3, 200] == layout.offset((3, 200), 16)
    assert sorted(placed.ravel()) == list(range(64 * 256))
