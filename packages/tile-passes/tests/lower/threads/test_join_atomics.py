"""Additions to neighbours become vectors where every thread's lie in order from a multiple on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Expr, Ramp
from tile_ir.ops import Atomic, For, Let
from tile_ir.rewrite import walk
from tile_ir.types import f32, i32
from tile_passes.lower.threads.join_atomics import join_atomics

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Stmt

THREADS = 64
T, I, J, K = (b.var(name, i32) for name in ("t", "i", "j", "k"))
FAR = Buffer(name="far", dtype=f32, shape=(b.const(64), b.const(16)), scope="global")
ODD = Buffer(name="odd", dtype=f32, shape=(b.const(64), b.const(18)), scope="global")
NEAR = Buffer(name="near", dtype=f32, shape=(b.const(16),), scope="local")
BUFFERS = {x.name: x for x in (FAR, ODD, NEAR)}


def nest(at: tuple[Expr, ...], near: Expr, far: Buffer = FAR) -> tuple[Stmt, ...]:
    """`t` is the thread's number; loops over k, i and j of 4, 2 and 2."""
    body: tuple[Stmt, ...] = (
        Atomic(kind="add", buffer=far.name, indices=at, value=b.load(NEAR, (near,))),
    )
    for var, count in ((J, 2), (I, 2), (K, 4)):
        zero, one = b.const(0), b.const(1)
        body = (For(var=var, start=zero, stop=b.const(count), step=one, kind="unroll", body=body),)
    return (Let(var=T, value=b.call("thread_index")), *body)


def lanes(at: tuple[Expr, ...], near: Expr, far: Buffer = FAR) -> int:
    """How many elements one addition takes after the pass."""
    found = join_atomics(nest(at, near, far), BUFFERS, ("f32", "f32x2", "f32x4"), THREADS)
    (one,) = (s for s in walk(found) if isinstance(s, Atomic))
    last = one.indices[-1]
    assert one.value.dtype.lanes == last.dtype.lanes
    assert isinstance(last, Ramp) == (last.dtype.lanes > 1)
    return last.dtype.lanes


def rows_of_registers() -> Expr:
    return b.add(b.add(b.mul(K, 4), b.mul(I, 2)), J)


CASES: dict[str, tuple[Callable[[], tuple[tuple[Expr, ...], Expr]], int]] = {
    "in order": (lambda: ((T, rows_of_registers()), rows_of_registers()), 4),
    "by shifts of the thread": (
        lambda: (
            (b.floordiv(b.add(T, b.mul(I, 64)), 64), b.add(b.mul(b.floormod(T, 4), 4), J)),
            rows_of_registers(),
        ),
        2,
    ),
    "a row each": (lambda: ((b.add(b.mul(I, 2), J), K), rows_of_registers()), 1),
    "from an odd place": (lambda: ((T, b.add(rows_of_registers(), 1)), rows_of_registers()), 1),
    "registers in another order": (
        lambda: ((T, rows_of_registers()), b.add(b.add(b.mul(K, 4), I), b.mul(J, 2))),
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_neighbours_on_both_sides(case: str) -> None:
    make, want = CASES[case]
    assert lanes(*make()) == want


def test_rows_that_are_no_multiple_take_what_fits() -> None:
    assert lanes((T, rows_of_registers()), rows_of_registers(), ODD) == 2


def test_kinds_that_the_target_lacks() -> None:
    body = nest((T, rows_of_registers()), rows_of_registers())
    assert join_atomics(body, BUFFERS, ("f32",), THREADS) is body
