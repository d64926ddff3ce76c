"""Constructors, index functions, bank counting and pictures."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.layout import (
    BankCycles,
    BankModel,
    MapLayout,
    access_cycles,
    blocked,
    column_major,
    fragment_from_function,
    from_function,
    parse_layout,
    render_text,
    row_major,
    swizzle_for,
    tabulate,
    warp_cycles,
)

BANKS = BankModel(banks=32, bank_bytes=4)


def test_strided_tiles():
    assert str(row_major((128, 64), ("m", "k"))) == "m (128:64) k (64:1)"
    assert str(column_major((128, 64), ("m", "k"))) == "m (128:1) k (64:128)"
    assert str(row_major((2, 3, 5))) == "d0 (2:15) d1 (3:5) d2 (5:1)"
    assert str(row_major((3, 1, 5))) == "d0 (3:5) d1 () d2 (5:1)"
    padded = row_major((16, 64), ("m", "n"), pad=8)
    assert str(padded) == "m (16:72) n (64:1)"
    assert padded.cosize() == 15 * 72 + 64
    assert str(row_major(())) == "()"
    assert row_major(()).offset(()) == 0


def test_cosize_of_a_swizzled_tile_ends_with_a_block():
    layout = parse_layout("m (9:64) k (40:1) swizzle<3,4,3>")
    used = {layout.offset((m, k), 16) for m, k in itertools.product(range(9), range(40))}
    assert layout.cosize(16) == 9 * 64
    assert max(used) < 9 * 64
    assert len(used) == 9 * 40
    small = parse_layout("m (10:1) swizzle<3,4,3>")
    assert small.cosize(16) == 10


def test_tiles_behind_one_another_begin_where_a_pattern_begins():
    assert parse_layout("m (2:16) k (16:1)").pitch(32) == 32
    small = parse_layout("m (2:16) k (16:1) swizzle<2,4,3>")  # 128 bytes of a pattern of 512
    assert (small.cosize(32), small.pitch(32)) == (32, 128)
    assert parse_layout("m (9:64) k (64:1) swizzle<3,4,3>").pitch(16) == 1024


def test_sub_byte_elements_move_in_whole_chunks():
    layout = parse_layout("m (16:256) k (256:1) swizzle<3,4,3>")
    assert layout.byte_offset((1, 0), 4) == 128 + 16
    assert layout.offset((1, 33), 4) == (128 + 0) * 2 + 1


def test_swizzle_by_row_width():
    assert [str(swizzle_for(n)) for n in (32, 64, 128)] == [
        "swizzle<1,4,3>",
        "swizzle<2,4,3>",
        "swizzle<3,4,3>",
    ]
    assert swizzle_for(96) is None


@pytest.mark.parametrize(
    ("shape", "threads", "vector", "text"),
    [
        ((64, 64), 128, 8, "thread (8:d1*8, 16:d0*1) value (8:d1*1, 4:d0*16)"),
        ((64, 80), 128, 8, "thread (2:d1*8, 64:d0*1) value (8:d1*1, 5:d1*16)"),
        ((1, 7), 128, 1, "thread (8:d1*1, 16:-) value () -> (d0, d1)"),
        ((7,), 4, 4, "thread (2:d0*4, 2:-) value (4:d0*1)"),
        ((), 32, 4, "thread (32:-) value ()"),
        ((3, 5, 2), 1, 1, "thread () value (2:d2*1, 5:d1*1, 3:d0*1)"),
    ],
)
def test_blocked_fragments(shape, threads, vector, text):
    assert str(blocked(shape, threads=threads, vector=vector)) == text


@given(
    st.lists(st.sampled_from((1, 2, 3, 7, 16, 33)), max_size=3),
    st.sampled_from((1, 32, 96, 128)),
    st.sampled_from((1, 2, 8)),
)
@settings(derandomize=True, max_examples=30, deadline=None)
def test_a_blocked_layout_exists_for_every_shape(shape, threads, vector):
    layout = blocked(shape, threads=threads, vector=vector)
    assert layout.threads == threads
    assert all(have >= want for have, want in zip(layout.shape, shape, strict=True))
    for coord in itertools.product(*map(range, shape)):
        assert len(layout.owners(coord)) == layout.replication


def test_irregular_functions_stay_tables():
    order = [3, 0, 2, 1, 5, 4]
    found = from_function((6,), lambda i: order[i], ("n",))
    assert isinstance(found, MapLayout)
    assert str(found) == "map n 6 -> offset 6 [3, 0, 2, 1, 5, 4]"
    assert [found.offset((i,)) for i in range(6)] == order
    shifted = from_function((4,), lambda i: i + 3, ("n",))
    assert str(shifted) == "map n 4 -> offset 7 [3+4]"


def test_fragments_from_functions():
    def by_rows(i: int, j: int) -> tuple[int, int]:
        return (i % 8) * 4 + j // 2 % 4, j // 8 * 2 + j % 2

    found = fragment_from_function((8, 16), by_rows, ("m", "n"))
    assert str(found) == "thread (4:n*2, 8:m*1) value (2:n*1, 2:n*8)"
    copies = fragment_from_function((8,), lambda i, r: (i * 4 + r, 0), ("m",), replicate=4)
    assert str(copies) == "thread (4:-, 8:m*1) value ()"
    ragged = fragment_from_function((3, 3), lambda i, j: ((3 * i + j) % 4, (3 * i + j) // 4))
    assert isinstance(ragged, MapLayout)
    assert ragged.coord(0, 2) == (2, 2)
    assert ragged.coord(1, 2) == (-1, -1)
    assert ragged.owners((1, 0)) == ((3, 0),)


@pytest.mark.parametrize(
    ("offsets", "vector_bytes", "cycles", "ideal"),
    [
        ([4 * i for i in range(32)], 4, 1, 1),
        ([0] * 32, 4, 1, 1),
        ([128 * i for i in range(32)], 4, 32, 1),
        ([8 * i for i in range(32)], 4, 2, 1),
        ([2 * i for i in range(32)], 2, 1, 1),
        ([16 * i for i in range(32)], 16, 4, 4),
        ([128 * i for i in range(32)], 16, 32, 4),
        ([12 * i for i in range(32)], 4, 1, 1),
        ([None] * 31 + [64], 4, 1, 1),
        ([None] * 32, 4, 0, 0),
    ],
)
def test_cycles_of_one_access(offsets, vector_bytes, cycles, ideal):
    found = warp_cycles(offsets, vector_bytes, BANKS)
    assert found == BankCycles(cycles, ideal)
    assert found.conflicts == cycles - ideal


def test_swizzle_and_padding_remove_conflicts():
    accumulator = parse_layout("thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, 8:n*8)")
    rows = "m (64:64) n (64:1)"

    def cycles(memory, fragment=accumulator, vector=2):
        return access_cycles(
            memory, fragment, element_bits=16, vector=vector, warp_width=32, model=BANKS
        )

    assert cycles(parse_layout(rows)) == BankCycles(512, 64)
    assert cycles(parse_layout(rows + " swizzle<3,4,3>")) == BankCycles(64, 64)
    assert cycles(row_major((64, 64), ("m", "n"), pad=8)) == BankCycles(64, 64)
    assert cycles(tabulate(parse_layout(rows)), vector=2) == BankCycles(512, 64)
    # Eight rows of one 16-byte chunk: what a matrix load of a column of chunks asks for.
    column = parse_layout("thread (8:m*1, 4:m*8) value (8:n*1, 8:n*8) -> (m, n)")
    assert cycles(parse_layout(rows), column, 8) == BankCycles(256, 32)
    assert cycles(parse_layout(rows + " swizzle<3,4,3>"), column, 8) == BankCycles(32, 32)


@given(
    st.sampled_from(("m (16:64) n (64:1)", "m (16:1) n (64:16)", "m (4:1, 4:64) n (16:4, 4:256)")),
    st.sampled_from(("", " swizzle<1,4,3>", " swizzle<3,4,3>", " swizzle<2,5,3>")),
    st.sampled_from((1, 2, 4)),
    st.sampled_from((8, 16, 32)),
)
@settings(derandomize=True, max_examples=40, deadline=None)
def test_alike_accesses_are_counted_as_often_as_they_happen(tile, swizzle, vector, bits):
    memory = parse_layout(tile + swizzle)
    fragment = blocked((16, 64), ("m", "n"), threads=64, vector=vector)
    same = {"element_bits": bits, "vector": vector, "warp_width": 32, "model": BANKS}
    one_by_one = access_cycles(tabulate(memory), fragment, **same)
    assert access_cycles(memory, fragment, **same) == one_by_one
    assert one_by_one.cycles >= one_by_one.ideal > 0


def test_pictures():
    tile = parse_layout("m (4:4) n (4:1)")
    assert render_text(tile, rows=2, columns=3) == "m (4:4) n (4:1)\n0 1 2 ..\n4 5 6 ..\n.."
    fragment = parse_layout("thread (2:n*1, 2:m*1) value (2:n*2)")
    assert render_text(fragment) == "\n".join(
        ["thread (2:n*1, 2:m*1) value (2:n*2)", "0:0 1:0 0:1 1:1", "2:0 3:0 2:1 3:1"]
    )
    line = parse_layout("thread (4:m*1) value ()")
    assert render_text(line) == "thread (4:m*1) value ()\n0:0 1:0 2:0 3:0"
    assert render_text(row_major(())) == "()\n0"
    cube = parse_layout("a (2:100) b (2:10) c (2:1)")
    assert render_text(cube).splitlines()[1:] == [" 0  1", "10 11"]
