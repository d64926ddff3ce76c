"""Loops turned so that the first operands of a trip come at the end of the trip before, and the
address arithmetic that leaves constants to accesses."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Binary, Const, Expr
from tile_ir.interp import run
from tile_ir.layout import parse_layout
from tile_ir.ops import AsyncCopy, Atom, For, If, MatrixLoad, SettleCount, Sync
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.types import dtype, i32
from tile_ir.verify import check
from tile_passes.lower.threads.addresses import flat_offset
from tile_passes.lower.threads.bits import bits_below, parts_of, possible_bits
from tile_passes.lower.threads.lower_threads import lower_threads

if TYPE_CHECKING:
    from tile_ir.core import Function

MATMUL = """
func @matmul(A: global f16[64, K], B: global f16[K, 64], C: global f32[64, 64]) dims (K)
  stage scheduled {{
  kernel @matmul {{
    tiles (by) in (1) {{
      assume K % {block} == 0
      alloc A_s: shared f16[64, {block}] slots 3 layout [m (64:{block}) k ({block}:1) swizzle<{bits},4,3>]
      alloc B_s: shared f16[{block}, 64] slots 3 layout [k ({block}:64) n (64:1) swizzle<3,4,3>]
      alloc C_l: fragment f32[64, 64]
      channel ab: ring(3) carries (A_s, B_s) from engine group_load to role compute arrivals 4
      fill C_l[:, :], 0.0
{first}
      for k in (0, K // {block}, 1) serial {{
        wait ab
        if k + 2 < K // {block} {{
          acquire ab
          issue group_load onto = ab {{
            copy A[:, (k + 2) * {block} : +{block}] -> A_s@ab[:, :] clip
          }}
          issue group_load onto = ab {{
            copy B[(k + 2) * {block} : +{block}, :] -> B_s@ab[:, :] clip
          }}
          commit ab
        }}
        gemm A_s@ab[:, :], B_s@ab[:, :] -> C_l[:, :]
        {after}
        release ab
      }}
      copy C_l[:, :] -> C[:, :]
    }}
  }}
}}
"""  # noqa: E501 -- a layout is one line


FIRST = """
      if {p} < K // {block} {{
        acquire ab
        issue group_load onto = ab {{ copy A[:, {p} * {block} : +{block}] -> A_s@ab[:, :] clip }}
        issue group_load onto = ab {{ copy B[{p} * {block} : +{block}, :] -> B_s@ab[:, :] clip }}
        commit ab
      }}
"""


def lowered(block: int, after: str = "") -> Function:
    first = "".join(FIRST.format(p=p, block=block) for p in range(2))
    bits = 3 if block == 64 else 2
    text = MATMUL.format(block=block, bits=bits, after=after, first=first)
    made = lower_threads(parse_function(text), toy_spec("sync"))
    check(made)
    return made


def of(fn: Function, op: type[Any]) -> list[Any]:
    return [s for s in walk(fn.body) if isinstance(s, op)]


def the_loop(fn: Function) -> For:
    return next(
        s
        for s in of(fn, For)
        if s.kind == "serial" and any(isinstance(t, Atom) for t in walk(s.body))
    )


@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 7])
def test_the_turned_loop_computes_the_product(block: int, trips: int) -> None:
    made = np.random.default_rng(trips)
    depth = trips * block
    a = made.integers(-4, 5, (64, depth)).astype(np.float16)
    c = made.integers(-4, 5, (depth, 64)).astype(np.float16)
    given_c = np.full((64, 64), np.nan, np.float32)
    out = run(lowered(block), {"A": a, "B": c, "C": given_c}, target=toy_spec("sync"))["C"]
    assert np.array_equal(out, a.astype(np.float32) @ c.astype(np.float32))


def test_loads_of_the_next_trip_stand_before_the_last_step() -> None:
    loop = the_loop(lowered(32))
    kinds = [type(s) for s in walk(loop.body) if isinstance(s, (MatrixLoad, Sync, Atom, AsyncCopy))]
    # step 1 comes, a later slot is filled, step 0 is multiplied, all meet, step 0 of the next trip
    # comes, step 1 is multiplied
    once = [k for i, k in enumerate(kinds) if i == 0 or kinds[i - 1] is not k]
    assert once == [MatrixLoad, AsyncCopy, Atom, Sync, MatrixLoad, Atom]


def test_an_end_of_the_ring_moves_only_where_there_is_a_next_trip() -> None:
    loop = the_loop(lowered(32))
    (step,) = [s for s in loop.body if isinstance(s, If) and "ab_use_slot" in str(s.then[0])]
    assert "k + 1 < " in str(step.cond)


@pytest.mark.parametrize(
    ("block", "after"),
    [
        (16, ""),  # one step
        (32, "parallel (i, j) in (64, 64) { store C_l[i, j] = C_l[i, j] * 0.5 }"),
    ],
)
def test_other_loops_stay_as_they_are(block: int, after: str) -> None:
    fn = lowered(block, after)
    assert len(of(fn, Sync)) == 1
    assert len(of(fn, SettleCount)) == 1


def test_registers_of_a_step_have_constant_places() -> None:
    names = {s.dst.buffer for s in of(lowered(64), MatrixLoad)}
    assert names == {"a_r", "a_r_1", "b_r", "b_r_1"}


# -- bits

OPERATORS = {
    "add": operator.add,
    "mul": operator.mul,
    "and": operator.and_,
    "xor": operator.xor,
    "shr": operator.rshift,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
}


def value_of(e: Expr, at: dict[Any, int]) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Binary):
        return int(OPERATORS[e.op](value_of(e.a, at), value_of(e.b, at)))
    return at[e]


def shared(layout: str, shape: tuple[int, ...]) -> Buffer:
    extents = tuple(b.const(n, i32) for n in shape)
    return Buffer(
        name="s", dtype=dtype("f16"), shape=extents, scope="shared", layout=parse_layout(layout)
    )


SWIZZLED = {
    "rows of half a bank row": ("m (64:32) k (32:1) swizzle<2,4,3>", (64, 32)),
    "rows of banks": ("m (32:64) k (64:1) swizzle<3,4,3>", (32, 64)),
    "columns": ("k (16:64) n (64:1, 2:1024) swizzle<3,4,3>", (16, 128)),
    "plain": ("m (64:40) k (32:1)", (64, 32)),
    "odd": ("m (6:96) k (3:32, 32:1)", (6, 96)),
}


@pytest.mark.parametrize("name", SWIZZLED)
@given(data=st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_an_offset_of_parts_is_the_layouts(name: str, data: st.DataObject) -> None:
    text, shape = SWIZZLED[name]
    buffer = shared(text, shape)
    t, v = b.var("t"), b.var("v")
    # 8 values of the thread, as many of the loop as the axis takes beyond them
    indices = [b.add(t, b.mul(v, 8)), b.add(b.mul(b.bit_and(t, 3), 8), b.mul(b.shr(v, 6), 32))]
    known = {t: bits_below(8), v: bits_below(shape[0] // 8)} if data.draw(st.booleans()) else {}
    at = {t: data.draw(st.integers(0, 7)), v: data.draw(st.integers(0, max(shape[0] // 8 - 1, 0)))}
    where = [value_of(i, at) for i in indices]
    if where[0] >= shape[0]:
        return
    assert value_of(flat_offset(buffer, indices, known), at) == buffer.layout.offset(where, 16)  # type: ignore[union-attr]  # it has one


def test_a_loops_steps_stand_apart_from_the_exchange() -> None:
    buffer = shared("m (64:32) k (32:1) swizzle<2,4,3>", (64, 32))
    t, v, kk = b.var("t"), b.var("v"), b.var("kk")
    known = {t: 31, v: 1, kk: 1}
    found = flat_offset(buffer, (b.add(t, b.mul(v, 32)), b.mul(kk, 16)), known)
    assert str(found).count("v * 1024") == 1
    assert str(found).count("kk * 16 ^") == 1


@given(x=st.integers(0, 255), y=st.integers(0, 255), by=st.sampled_from([1, 2, 3, 8, 16]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_possible_bits_cover_the_value(x: int, y: int, by: int) -> None:
    p, q = b.var("p"), b.var("q")
    for e in (
        b.add(p, q),
        b.bit_xor(p, b.mul(q, by)),
        b.bit_and(b.add(p, by), q),
        b.add(b.shr(p, 2), b.mul(b.bit_and(q, 3), 64)),
    ):
        bits = possible_bits(e, {p: 255, q: 255})
        assert bits is not None
        assert value_of(e, {p: x, q: y}) & ~bits == 0


def test_parts_that_may_carry_are_no_parts() -> None:
    p, q = b.var("p"), b.var("q")
    assert parts_of(b.add(p, q), {p: 7, q: 8}) is not None
    assert parts_of(b.add(p, q), {p: 7, q: 12}) is None
    assert parts_of(b.add(p, q), {p: 7}) is None
