"""Roles, channels and asynchronous operations in one thread's program: what it looks like, and that
it computes what the tile program does."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tile_ir.diag import InternalError, TileError
from tile_ir.expr import Const
from tile_ir.expr import walk as expressions
from tile_ir.interp import run
from tile_ir.ops import (
    Atom,
    BarrierArrive,
    Barriers,
    BarrierWait,
    BoxLoad,
    CommitGroup,
    For,
    If,
    MatrixStore,
    RegisterLimit,
    SettleCount,
    Sync,
)
from tile_ir.rewrite import map_stmts, replace, stmt_exprs, walk, with_body
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import check
from tile_passes.lower.threads.lower_threads import lower_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Function
    from tile_ir.opdef import Stmt

BOXES = Path(__file__).with_name("boxes.tir").read_text()
"""A producer of boxes, two groups that multiply asynchronously, one product always under way."""

RUNS = """
func @matmul(A: global f16[M, 256], B: global f16[256, 64], C: global f32[M, 64]) dims (M)
  stage scheduled {
  kernel @matmul {
    tiles (by) in (ceildiv(M, 64)) {
      alloc A_s: shared f16[64, 64] slots 3 layout [m (64:64) k (64:1) swizzle<3,4,3>]
      alloc B_s: shared f16[64, 64] slots 3 layout [k (64:64) n (64:1) swizzle<3,4,3>]
      alloc C_l: fragment f32[64, 64]
      channel ab: ring(3) carries (A_s, B_s) from engine group_load to role compute arrivals 4
      acquire ab
      issue group_load onto = ab { copy A[by * 64 : +64, 0 : +64] -> A_s@ab[:, :] clip }
      issue group_load onto = ab { copy B[0 : +64, :] -> B_s@ab[:, :] }
      commit ab
      acquire ab
      issue group_load onto = ab { copy A[by * 64 : +64, 64 : +64] -> A_s@ab[:, :] clip }
      issue group_load onto = ab { copy B[64 : +64, :] -> B_s@ab[:, :] }
      commit ab
      for k in (0, 4, 1) serial {
        wait ab
        if k + 2 < 4 {
          acquire ab
          issue group_load onto = ab {
            copy A[by * 64 : +64, (k + 2) * 64 : +64] -> A_s@ab[:, :] clip
          }
          issue group_load onto = ab { copy B[(k + 2) * 64 : +64, :] -> B_s@ab[:, :] }
          commit ab
        }
        gemm A_s@ab[:, :], B_s@ab[:, :] -> C_l[:, :] init = k == 0
        release ab
      }
      copy C_l[:, :] -> C[by * 64 : +64, :] clip
    }
  }
}
"""
"""All threads copy two iterations ahead and multiply by synchronous instructions."""


def lowered(text: str, arch: Any) -> Function:
    made = lower_threads(parse_function(text), toy_spec(arch))
    check(made)
    return made


@pytest.fixture(scope="module")
def boxes() -> Function:
    """The program with roles, for one thread."""
    return lowered(BOXES, "async")


@pytest.fixture(scope="module")
def runs() -> Function:
    """The program without roles, for one thread."""
    return lowered(RUNS, "sync")


def test_roles_with_barriers(golden: Any, boxes: Function) -> None:
    text = print_function(boxes)
    golden(text, "tir")
    assert print_function(parse_function(text)) == text


def test_runs_in_groups(golden: Any, runs: Function) -> None:
    golden(print_function(runs), "tir")


def of(fn: Function, op: type[Any]) -> list[Any]:
    return [s for s in walk(fn.body) if isinstance(s, op)]


# -- structure


def test_no_barrier_of_the_block_is_inside_a_role(boxes: Function) -> None:
    (split, *_) = [s for s in of(boxes, If) if s.orelse]
    inside = [s for s in walk((*split.then, *split.orelse)) if isinstance(s, Sync)]
    assert all(s.scope == "role" and s.threads == 256 for s in inside)
    assert [s.scope for s in of(boxes, Sync) if s not in inside] == ["block"]


def test_barriers_are_behind_the_buffers_with_the_planned_arrivals(boxes: Function) -> None:
    full, empty = of(boxes, Barriers)
    assert (full.count, full.arrivals, full.offset) == (2, 1, 65536)
    assert (empty.count, empty.arrivals, empty.offset) == (2, 8, 65552)


def test_registers_move_to_those_who_compute(boxes: Function) -> None:
    assert [(s.count, s.grow) for s in of(boxes, RegisterLimit)] == [(232, True), (40, False)]


def test_a_hint_for_the_cache_stays_with_the_copy() -> None:
    text = BOXES.replace("B_s@ab[:, :] clip", "B_s@ab[:, :] clip, eviction = evict_first")
    hints = {s.src.buffer: s.eviction for s in of(lowered(text, "async"), BoxLoad)}
    assert hints == {"A": "normal", "B": "evict_first"}


def test_a_wide_tile_comes_in_columns(boxes: Function) -> None:
    widths = [[r.extent.value for r in s.dst.ranges] for s in of(boxes, BoxLoad)]
    assert widths == [[1, 128, 64], [1, 64, 64]]


def test_each_group_multiplies_its_rows(boxes: Function) -> None:
    (atom,) = of(boxes, Atom)
    assert [r.extent.value for r in atom.a.ranges] == [1, 64, 16]
    assert [r.extent.value for r in atom.b.ranges] == [1, 16, 128]
    assert str(atom.a.ranges[1].start) == "group * 64"
    assert str(atom.init) == "k == 0 and kk == 0"


def test_one_product_stays_under_way(boxes: Function) -> None:
    assert [s.pending for s in of(boxes, SettleCount)] == [1, 0]


def test_the_tail_closes_empty_groups_so_that_counts_stay(runs: Function) -> None:
    assert [s.pending for s in of(runs, SettleCount)] == [1, 1]  # before the loop and in it
    assert len(of(runs, CommitGroup)) == 3
    branch = next(s for s in of(runs, If) if "2 < 4" in str(s.cond))
    assert not any(isinstance(s, CommitGroup) for s in walk(branch.then))


def test_one_barrier_for_each_trip_of_a_ring(runs: Function) -> None:
    (loop,) = [s for s in of(runs, For) if s.kind == "serial"]
    assert sum(isinstance(s, Sync) for s in walk(loop.body)) == 1
    assert len(of(runs, Sync)) == 2


def test_a_ring_of_one_slot_needs_a_barrier_before_it_is_filled_again() -> None:
    text = """
    func @f(A: global f32[8, 64], B: global f32[8, 64]) stage scheduled {
      kernel @f threads = (32) {
        tiles (x) in (1) {
          alloc s: shared f32[64]
          channel c: ring(1) carries (s) from engine group_load to role compute arrivals 1
          for k in (0, 8, 1) serial {
            acquire c
            issue group_load onto = c { copy A[k, :] -> s@c[:] }
            commit c
            wait c
            copy s@c[:] -> B[k, :]
            release c
          }
        }
      }
    }
    """
    fn = lowered(text, "sync")
    assert len(of(fn, Sync)) == 2
    a = np.arange(512, dtype=np.float32).reshape(8, 64)
    got = run(fn, {"A": a, "B": np.zeros_like(a)}, target=toy_spec("sync"))
    np.testing.assert_array_equal(got["B"], a)


def test_a_pipeline_in_a_branch_closes_its_groups_where_it_fills() -> None:
    text = """
    func @f(A: global f32[3, 64], B: global f32[3, 64], n: i32) stage scheduled {
      kernel @f threads = (32) {
        tiles (x) in (1) {
          alloc s: shared f32[64] slots 2
          channel c: ring(2) carries (s) from engine group_load to role compute arrivals 1
          if x < n {
            acquire c
            issue group_load onto = c { copy A[0, :] -> s@c[:] }
            commit c
            for k in (0, 3, 1) serial {
              if k + 1 < 3 {
                acquire c
                issue group_load onto = c { copy A[k + 1, :] -> s@c[:] }
                commit c
              }
              wait c
              copy s@c[:] -> B[k, :]
              release c
            }
          }
        }
      }
    }
    """
    fn = lowered(text, "sync")
    (outer,) = (s for s in of(fn, If) if str(s.cond) == "x < n")
    assert any(isinstance(s, CommitGroup) for s in outer.then)
    a = np.arange(192, dtype=np.float32).reshape(3, 64)
    for n, want in ((1, a), (0, np.zeros_like(a))):
        args = {"A": a, "B": np.zeros_like(a), "n": n}
        got = run(fn, args, schedule="late", target=toy_spec("sync"))
        np.testing.assert_array_equal(got["B"], want)


def test_a_group_multiplies_several_row_blocks_from_registers() -> None:
    text = """
    func @f(A: global f16[128, 64], B: global f16[64, 64], C: global f32[128, 64]) stage scheduled {
      kernel @f threads = (128) {
        tiles (x) in (1) {
          alloc A_l: fragment f16[128, 64] layout [thread (4:k*2, 8:m*1, 4:m*16) value (2:k*1, 2:m*8, 8:k*8, 2:m*64)]
          alloc B_s: shared f16[64, 64] layout [k (64:64) n (64:1) swizzle<3,4,3>]
          alloc C_l: fragment f32[128, 64] layout [thread (4:n*2, 8:m*1, 4:m*16) value (2:n*1, 2:m*8, 8:n*8, 2:m*64)]
          copy A[:, :] -> A_l[:, :]
          copy B[:, :] -> B_s[:, :]
          fence generic -> async
          sync block
          issue mma { gemm A_l[:, :], B_s[:, :] -> C_l[:, :] init = true }
          group mma -> t
          settle t
          copy C_l[:, :] -> C[:, :]
        }
      }
    }
    """  # noqa: E501 -- a layout is one line
    fn = lowered(text, "async")
    assert "a_r" not in print_function(fn)  # the registers are taken as they are
    rng = np.random.default_rng(0)
    a, c = (rng.integers(-2, 3, n).astype(np.float16) for n in ((128, 64), (64, 64)))
    args = {"A": a, "B": c, "C": np.zeros((128, 64), np.float32)}
    got = run(fn, args, target=toy_spec("async"))
    np.testing.assert_array_equal(got["C"], a.astype(np.float32) @ c.astype(np.float32))


READ_BY_THREADS = """
func @f(A: global f16[512, 64], B: global f16[512, 64]) stage scheduled {
  kernel @f threads = (256) {
    tiles (x) in (1) {
      alloc s: shared f16[64, 64] slots 2 offset 0 layout [m (64:64) k (64:1) swizzle<3,4,3>]
      channel c: ring(2) carries (s) from engine box_load to role compute arrivals 4 bytes = 8192
      role producer warps = 4, elect = 1 {
        for k in (0, 8, 1) serial {
          acquire c
          issue box_load onto = c { copy A[k * 64 : +64, :] -> s@c[:, :] }
          commit c
        }
      }
      role compute warps = 4 {
        for k in (0, 8, 1) serial {
          alloc r: fragment f16[64, 64] layout [thread (32:k*2, 4:m*1) value (2:k*1, 16:m*4)]
          wait c
          copy s@c[:, :] -> r[:, :]
          release c
          copy r[:, :] -> B[k * 64 : +64, :]
        }
      }
    }
  }
}
"""
"""Boxes that threads read: an arrival does not wait for loads that are under way."""


def before_arrivals(fn: Function) -> set[str]:
    """The kinds of statements in front of arrivals of one thread for others."""
    bodies = [b for s in walk(fn.body) for b in (getattr(s, "body", ()), getattr(s, "then", ()))]
    return {
        type(before).__name__
        for body in bodies
        for before, s in pairwise(body)
        if isinstance(s, If) and isinstance(s.then[0], BarrierArrive)
    }


def test_a_slot_that_threads_read_goes_back_behind_a_fence(boxes: Function) -> None:
    fn = lowered(READ_BY_THREADS, "async")
    assert before_arrivals(fn) == {"Fence"}
    assert "Fence" not in before_arrivals(boxes)
    a = np.arange(512 * 64, dtype=np.float16).reshape(512, 64)
    got = run(fn, {"A": a, "B": np.zeros_like(a)}, target=toy_spec("async"))
    np.testing.assert_array_equal(got["B"], a)


def test_half_precision_results_leave_by_whole_matrices(programs: Any) -> None:
    text = print_function(programs.tile("gemm")).replace("C: global f32", "C: global f16")
    made = programs.planned(parse_function(text), "async").after
    fn = lower_threads(made, toy_spec("async"))
    assert of(fn, MatrixStore)
    rng = np.random.default_rng(3)
    a, c = (rng.integers(-2, 3, s).astype(np.float16) for s in ((70, 40), (40, 64)))
    args = {"A": a, "B": c, "C": np.zeros((70, 64), np.float16)}
    got = run(fn, args, target=toy_spec("async"))
    np.testing.assert_array_equal(got["C"], (a.astype(np.float32) @ c).astype(np.float16))


# -- meaning


@pytest.mark.parametrize("arch", ["async", "sync"])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("name", ["gemm", "attention", "gated", "scaled", "no product", "nested"])
def test_planned_programs_keep_their_meaning(
    programs: Any, name: str, stages: int, arch: Any
) -> None:
    made = programs.planned(programs.tile(name, stages=stages), arch)
    fn = lower_threads(made.after, toy_spec(arch))
    check(fn)
    for k in (20, 100):  # one trip, and one more than the slots of the smaller rings
        args = programs.arguments(name, k)
        want = run(made.before, args)
        for schedule in ("late", "issue"):
            got = run(fn, args, schedule=schedule, target=toy_spec(arch))  # type: ignore[arg-type]  # one of the two
            for buffer, value in want.items():
                np.testing.assert_allclose(got[buffer], value, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
def test_every_number_of_trips(boxes: Function, trips: int) -> None:
    rng = np.random.default_rng(trips)
    a, c = (
        rng.integers(-2, 3, s).astype(np.float16) for s in ((130, 64 * trips), (64 * trips, 128))
    )
    want = (a.astype(np.float32) @ c.astype(np.float32)).astype(np.float16)
    args = {"A": a, "B": c, "C": np.zeros((130, 128), np.float16)}
    got = run(boxes, args, target=toy_spec("async"))
    if trips:  # without one the accumulator was never written
        np.testing.assert_array_equal(got["C"], want)
    else:
        assert np.isnan(got["C"]).all()


@pytest.mark.parametrize("pair", [("by", 2, "B_s"), ("bx", 2, "A_s")])
def test_two_blocks_bring_what_both_need(programs: Any, pair: tuple[str, int, str]) -> None:
    text = print_function(programs.tile("gemm", n=128))
    for name, size in {"M": 256, "N": 256, "K": 200}.items():
        text = text.replace(f"[{name},", f"[{size},").replace(f", {name}]", f", {size}]")
    for count, size in {"ceildiv(M, 64)": 4, "ceildiv(N, 128)": 2, "ceildiv(K, 32)": 7}.items():
        text = text.replace(count, str(size))
    tile = parse_function(text.replace(" dims (M, N, K)", ""))
    made = programs.planned(tile, "async", {"matmul.tiles.cluster": pair})
    fn = lower_threads(made.after, toy_spec("async"))
    check(fn)
    loads = {s.dst.buffer: s.multicast for s in of(fn, BoxLoad)}
    assert {n for n, mask in loads.items() if mask is not None} == {pair[2]}
    (_, empty) = of(fn, Barriers)
    assert (empty.arrivals, empty.scope) == (2 * 4, "cluster")
    assert [s.scope for s in of(fn, Sync)].count("cluster") == 2
    rng = np.random.default_rng(1)
    a, c = (rng.integers(-2, 3, s).astype(np.float16) for s in ((256, 200), (200, 256)))
    args = {"A": a, "B": c, "C": np.zeros((256, 256), np.float32)}
    for schedule in ("late", "issue"):
        got = run(fn, args, schedule=schedule, target=toy_spec("async"))  # type: ignore[arg-type]  # one of the two
        np.testing.assert_array_equal(got["C"], a.astype(np.float32) @ c.astype(np.float32))


# -- mistakes that the oracle must see


def changed(fn: Function, visit: Callable[[Stmt], Stmt | tuple[Stmt, ...] | None]) -> Function:
    return with_body(fn, map_stmts(fn.body, visit))


def products(fn: Function, schedule: Any = "late") -> Any:
    a, c = np.ones((128, 320), np.float16), np.ones((320, 128), np.float16)
    args = {"A": a, "B": c, "C": np.zeros((128, 128), np.float16)}
    return run(fn, args, schedule=schedule, target=toy_spec("async"))["C"]


def test_without_the_wait_for_a_filled_slot_the_ends_part(boxes: Function) -> None:
    assert (products(boxes) == 320).all()
    wrong = changed(
        boxes,
        lambda s: () if isinstance(s, BarrierWait) and s.barrier == "ab_full" else None,
    )
    with pytest.raises(TileError, match="E0507"):
        products(wrong)


def test_without_arrivals_the_producer_waits_for_ever(boxes: Function) -> None:
    wrong = changed(boxes, lambda s: () if isinstance(s, BarrierArrive) else None)
    with pytest.raises(TileError, match="E0507"):
        products(wrong)


def test_arrivals_twice_turn_the_parity_back(boxes: Function) -> None:
    def twice(s: Stmt) -> tuple[Stmt, ...] | None:
        return (s, s) if isinstance(s, BarrierArrive) else None

    with pytest.raises(TileError, match="E0507"):
        products(changed(boxes, twice))


def test_a_settle_that_leaves_too_much_pending_is_seen(boxes: Function) -> None:
    def loose(s: Stmt) -> Stmt | None:
        return replace(s, pending=5) if isinstance(s, SettleCount) else None

    assert not (products(changed(boxes, loose)) == 320).all()


# -- limits


def test_turns_between_groups_of_a_role_are_refused() -> None:
    text = BOXES.replace(
        "      role producer",
        "      channel turn: ring(1) carries () from role compute arrivals 4 per group"
        " to role compute arrivals 4 per group\n      role producer",
    )
    with pytest.raises(InternalError, match="turn connects groups of compute"):
        lowered(text, "async")


def nodes(fn: Function) -> int:
    stmts = list(walk(fn.body))
    return len(stmts) + sum(len(expressions(e)) for s in stmts for e in stmt_exprs(s))


def test_size(boxes: Function, runs: Function) -> None:
    assert nodes(boxes) <= 1200
    assert nodes(runs) <= 1200


def test_barriers_have_to_fit() -> None:
    small = toy_spec("async")
    scopes = dict(small.scopes.items())
    scopes["shared"] = dataclasses.replace(scopes["shared"], bytes=65536)
    tight = dataclasses.replace(small, scopes=type(small.scopes)(scopes))
    with pytest.raises(TileError, match="E0703"):
        lower_threads(parse_function(BOXES), tight)


def test_a_layout_that_is_no_box_is_ours_to_avoid() -> None:
    wrong = BOXES.replace("m (128:64) k (64:1) swizzle<3,4,3>", "m (128:1) k (64:128)")
    with pytest.raises(InternalError, match="no box"):
        lower_threads(parse_function(wrong), toy_spec("async"))


def test_constants_of_slots(runs: Function) -> None:
    stores = [s for s in walk(runs.body) if getattr(s, "buffer", "") == "ab_use_slot"]
    assert any(isinstance(getattr(s, "value", None), Const) for s in stores)
