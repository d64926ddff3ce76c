"""Indices put together from digits of variables: what is found is what they mean."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Var
from tile_ir.layout import FragmentLayout, parse_layout
from tile_ir.ops import Parallel
from tile_ir.types import i32
from tile_passes.analysis.index_maps import index_map, seen_through

EXTENTS = (12, 16)
I, J = (Var(name, i32) for name in "ij")
LOOP = Parallel(vars=(I, J), extents=tuple(b.const(n) for n in EXTENTS), body=())


def value(e: Expr, i: int, j: int) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return i if e is I else j
    assert isinstance(e, Binary)
    x, y = value(e.a, i, j), value(e.b, i, j)
    return {"add": x + y, "mul": x * y, "floordiv": x // (y or 1), "floormod": x % (y or 1)}[e.op]


def steps(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    by = st.sampled_from([1, 2, 3, 4, 6, 8, 16])
    with_constant = st.tuples(st.sampled_from([b.mul, b.floordiv, b.floormod]), inner, by)
    sums = st.tuples(st.just(b.add), inner, inner)
    return st.one_of(with_constant, sums).map(lambda made: made[0](made[1], made[2]))


INDICES = st.recursive(st.sampled_from([I, J]), steps, max_leaves=4)


@given(st.lists(INDICES, min_size=1, max_size=2))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_pieces_add_up_to_the_index(indices: list[Expr]) -> None:
    found = index_map(indices, LOOP)
    if found is None:
        return
    for i, j in itertools.product(*(range(n) for n in EXTENTS)):
        for index, pieces in zip(indices, found, strict=True):
            parts = ((i, j)[p.variable] // p.place % p.extent * p.stride for p in pieces)
            assert sum(parts) == value(index, i, j)


def test_what_is_no_sum_of_digits_is_not_taken() -> None:
    assert index_map([b.add(I, 1)], LOOP) is None
    assert index_map([b.mul(I, J)], LOOP) is None
    assert index_map([b.sub(15, J)], LOOP) is None
    assert index_map([b.floordiv(I, 5)], LOOP) is None  # 12 values do not come in fives
    assert index_map([b.floordiv(b.add(I, J), 2)], LOOP) is None  # a carry
    assert index_map([J, b.floormod(J, 4)], LOOP) is None  # the same part twice


@given(st.lists(INDICES, min_size=1, max_size=2))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_threads_meet_the_elements_of_their_iterations(indices: list[Expr]) -> None:
    found = index_map(indices, LOOP)
    runs = parse_layout("thread (4:d1*2, 3:d0*2) value (2:d1*1, 2:d0*1, 2:d1*8)")
    assert isinstance(runs, FragmentLayout)
    seen = None if found is None else seen_through(runs, found)
    if seen is None:
        return
    for thread in range(runs.threads):
        wanted = set()
        for v in range(runs.values):
            i, j = runs.coord(thread, v)
            wanted.add(tuple(value(index, i, j) for index in indices))
        assert {seen.coord(thread, v) for v in range(seen.values)} == wanted
