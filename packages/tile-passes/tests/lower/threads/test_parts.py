"""Boxes of fragments: which registers hold them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.layout import FragmentLayout, parse_layout
from tile_ir.types import f32
from tile_passes.lower.threads.outstanding import Outstanding
from tile_passes.lower.threads.parts import part_of

ACCUMULATOR = "thread (4:n*2, 8:m*1, 8:m*16) value (2:n*1, 2:m*8, 16:n*8)"


def fragment(text: str) -> Buffer:
    layout = parse_layout(text)
    assert isinstance(layout, FragmentLayout)
    shape = tuple(b.const(n) for n in layout.output_shape)
    order = ("m", "n")
    assert set(layout.outputs) == set(order)
    layout = dataclasses.replace(layout, outputs=order)
    shape = tuple(b.const(n) for n in layout.output_shape)
    return Buffer(name="x", dtype=f32, shape=shape, scope="fragment", layout=layout)


def box(buffer: Buffer, start: tuple[int, int], size: tuple[int, int]) -> Region:
    ranges = [(s, n) for s, n in zip(start, size, strict=True)]
    return b.region(buffer, ranges)


def registers(runs: tuple[tuple[int, int], ...], base: int) -> list[int]:
    out = [base]
    for extent, place in runs:
        out = [at + i * place for i in range(extent) for at in out]
    return out


@given(width=st.sampled_from([8, 16, 32, 64, 128]), at=st.integers(0, 15))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_registers_of_a_box_are_those_with_its_coordinates(width: int, at: int) -> None:
    buffer = fragment(ACCUMULATOR)
    start = at * width % 128
    part = part_of(box(buffer, (0, start), (128, width)), buffer)
    assert part is not None
    whole = buffer.layout
    assert isinstance(whole, FragmentLayout)
    for thread in (0, 5, 77, 255):
        held = registers(part.runs, part.base)
        coordinates = [whole.coord(thread, v) for v in held]
        assert all(start <= n < start + width for _, n in coordinates)
        small = [part.layout.coord(thread, v) for v in range(len(held))]
        assert small == [(m, n - start) for m, n in coordinates]


@pytest.mark.parametrize(
    ("start", "size"),
    [
        ((0, 0), (64, 128)),  # rows that half of the threads have
        ((0, 4), (128, 4)),  # columns that half of the lanes have
        ((0, 8), (128, 16)),  # not at a multiple of its width
    ],
)
def test_boxes_that_cut_through_threads(start: tuple[int, int], size: tuple[int, int]) -> None:
    buffer = fragment(ACCUMULATOR)
    assert part_of(box(buffer, start, size), buffer) is None


def test_a_fragment_without_layout_has_no_parts() -> None:
    bare = dataclasses.replace(fragment(ACCUMULATOR), layout=None)
    assert part_of(box(bare, (0, 0), (128, 8)), bare) is None


# -- what is under way


def test_groups_age_with_those_closed_after_them() -> None:
    state = Outstanding().closed("mma", {}).named("mma", "s")
    state = state.closed("mma", {}).named("mma", "o")
    assert state.pending("s", 0) == ("mma", 1)
    assert state.pending("o", 0) == ("mma", 0)
    assert state.pending("s", 1) is None
    state = state.closed("copy", {}).closed("mma", {}).named("mma", "s")
    assert state.pending("s", 1) == ("mma", 2)
    assert state.pending("o", 0) == ("mma", 1)


def test_paths_join_on_the_side_that_waits_longer() -> None:
    one = Outstanding().closed("mma", {}).named("mma", "t")
    two = one.closed("mma", {}).closed("mma", {})
    assert one.join(two).pending("t", 0) == ("mma", 0)
    assert Outstanding().join(two).pending("t", 0) == ("mma", 2)


def test_fillings_are_waited_for_in_order() -> None:
    of = {"a": "copy", "c": "copy"}
    state = Outstanding()
    for name in ("a", "c", "a"):
        state = state.acquired(name, 3).closed("copy", of).filled(name)
    assert (state.oldest("a"), state.oldest("c")) == (2, 1)
    state = state.waited("a", 3)
    assert state.oldest("a") == 0
    assert state.join(Outstanding()).oldest("a") == 0  # unknown how many: wait for all
    assert not state.is_empty("a")
    assert state.waited("a", 3).released("a", 3).released("a", 3).is_empty("a")


def test_releases_are_loose_until_the_threads_meet() -> None:
    state = Outstanding().acquired("a", 2).waited("a", 2).released("a", 2)
    assert state.loose == {"a": 1}
    assert state.synchronized().loose == {}
    assert np.all([n == 0 for n in state.taken.values()])
