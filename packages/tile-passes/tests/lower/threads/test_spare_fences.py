"""Fences before arrivals stay where a thread touched shared memory since the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.ops import BarrierArrive, Fence, For, If, Store
from tile_ir.rewrite import walk
from tile_ir.types import f32, i32
from tile_passes.lower.threads.spare_fences import spare_fences

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt

BUFFERS = {
    "s": Buffer(name="s", dtype=f32, shape=(b.const(4),), scope="shared"),
    "g": Buffer(name="g", dtype=f32, shape=(b.const(4),), scope="global"),
}
FENCE = Fence(before="generic", after="async")
ARRIVE = BarrierArrive(barrier="full", index=b.const(0))


def put(buffer: str) -> Stmt:
    return Store(buffer=buffer, indices=(b.const(0),), value=b.const(1.0, f32))


def loop(*body: Stmt) -> Stmt:
    var = b.var("i", i32)
    return For(var=var, start=b.const(0), stop=b.const(4), step=b.const(1), body=body)


def fences(*body: Stmt) -> int:
    found: Body = spare_fences(body, BUFFERS)
    assert sum(s == ARRIVE for s in walk(found)) == sum(s == ARRIVE for s in walk(body))
    return sum(s == FENCE for s in walk(found))


def test_a_second_one_with_nothing_between_goes() -> None:
    assert fences(put("s"), FENCE, ARRIVE, FENCE, ARRIVE) == 1
    assert fences(put("s"), FENCE, ARRIVE, put("g"), FENCE, ARRIVE) == 1


def test_one_behind_an_access_stays() -> None:
    assert fences(put("s"), FENCE, ARRIVE, put("s"), FENCE, ARRIVE) == 2
    read = Store(buffer="g", indices=(b.const(0),), value=b.load(BUFFERS["s"], (b.const(0),)))
    assert fences(put("s"), FENCE, ARRIVE, read, FENCE, ARRIVE) == 2


def test_the_first_one_stays() -> None:
    assert fences(FENCE, ARRIVE) == 1


def test_a_trip_begins_where_another_one_ended() -> None:
    assert fences(FENCE, loop(FENCE, ARRIVE, put("s"))) == 2
    assert fences(FENCE, loop(put("s"), FENCE, ARRIVE, FENCE, ARRIVE), FENCE) == 2
    assert fences(FENCE, loop(FENCE, ARRIVE)) == 1


def test_what_one_branch_touches_counts() -> None:
    cond = b.lt(b.var("x", i32), b.const(1))
    touched = If(cond=cond, then=(put("s"),), orelse=(ARRIVE,))
    assert fences(FENCE, touched, FENCE, ARRIVE) == 2
    fenced = If(cond=cond, then=(put("s"), FENCE, ARRIVE), orelse=(ARRIVE,))
    assert fences(FENCE, fenced, FENCE, ARRIVE) == 2
