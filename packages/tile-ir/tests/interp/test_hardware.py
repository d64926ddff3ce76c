"""Barriers that count, bulk copies and groups of copies in one thread's program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.interp.phases import Action, Phases
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.verify import check

if TYPE_CHECKING:
    from tile_ir.core import Function

SCALE = """
func @scale(A: global f32[20, 32], B: global f32[20, 32]) stage simt {
  kernel @scale threads = (64) {
    tiles (x) in (2) {
      let tid = thread_index()
      alloc s: shared f32[1, 16, 32] offset 0 layout [d0 (1:512) d1 (16:32) d2 (32:1) swizzle<3,4,3>]
      alloc s_flat: shared f32[512] offset 0
      barriers full: [1] arrivals 1 offset = 2048
      sync block
      if tid < 32 {
        barrier_wait full[0] phase 0
        for i in (0, 16, 1) serial {
          let at = i * 32 + (tid ^ (i & 7) << 2)
          store s_flat[at] = s_flat[at] * 2.0
        }
        fence generic -> async
        sync role id = 1, threads = 32
        if tid == 0 { box_store s[:, :, :] -> B[x * 16 : +16, :] }
        commit_group box_store
        settle_count box_store <= 0
      } else {
        if tid == 32 {
          barrier_expect full[0] bytes 2048
          box_load A[x * 16 : +16, :] -> s[:, :, :] onto full[0]
        }
      }
    }
  }
}
"""  # noqa: E501 -- a declaration is one line
"""One thread brings a box, a warp doubles it in place, one thread sends it off."""


def function(text: str) -> Function:
    fn = parse_function(text)
    check(fn)
    return fn


def scaled(text: str, **options: Any) -> tuple[Any, Any]:
    a = np.arange(640, dtype=np.float32).reshape(20, 32)
    args = {"A": a, "B": np.zeros_like(a)}
    return run(function(text), args, target=toy_spec("async"), **options)["B"], a


@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_a_box_is_added_to_what_is_there(schedule: str) -> None:
    a = np.arange(640, dtype=np.float32).reshape(20, 32)
    text = SCALE.replace("B[x * 16 : +16, :] }", "B[x * 16 : +16, :] reduce = add }")
    args = {"A": a, "B": np.full_like(a, 5)}
    got = run(function(text), args, target=toy_spec("async"), schedule=schedule)["B"]  # type: ignore[arg-type]  # one of the two
    np.testing.assert_array_equal(got, 2 * a + 5)


@pytest.mark.parametrize("schedule", ["late", "issue"])
def test_boxes_meet_threads_through_the_swizzle(schedule: str) -> None:
    got, a = scaled(SCALE, schedule=schedule)
    np.testing.assert_array_equal(got, 2 * a)


def test_bytes_that_never_come_are_a_deadlock() -> None:
    with pytest.raises(TileError, match="E0507") as error:
        scaled(SCALE.replace("bytes 2048", "bytes 4096"))
    assert "barrier_wait full[0] phase 0" in str(error.value)


def test_without_the_settle_the_result_still_leaves_at_the_end() -> None:
    got, a = scaled(SCALE.replace("settle_count box_store <= 0\n", ""))
    np.testing.assert_array_equal(got, 2 * a)


def test_a_barrier_of_a_role_counts_its_threads() -> None:
    with pytest.raises(TileError, match="E0512"):
        scaled(SCALE.replace("threads = 32", "threads = 64"))


def test_each_thread_copies_what_is_inside() -> None:
    text = """
    func @f(A: global f32[30], B: global f32[32]) stage simt {
      kernel @f threads = (8) {
        tiles (x) in (1) {
          let tid = thread_index()
          alloc s: shared f32[32] offset 0
          async_copy A[tid * 4 : +4] -> s[tid * 4 : +4] where = tid < 7
          commit_group group_load
          settle_count group_load <= PENDING
          store B[ramp(tid * 4, 1, 4)] = s[ramp(tid * 4, 1, 4)]
        }
      }
    }
    """
    args = {"A": np.arange(1, 31, dtype=np.float32), "B": np.zeros(32, np.float32)}
    got = run(function(text.replace("PENDING", "0")), args, target=toy_spec("async"))["B"]
    np.testing.assert_array_equal(got, [*range(1, 29), 0, 0, 0, 0])
    early = run(function(text.replace("PENDING", "1")), args, target=toy_spec("async"))["B"]
    assert np.isnan(early).all()


def test_the_life_of_a_phase() -> None:
    phases, seen = Phases("p", [2, 2]), list[str]()
    phases.expect(1, 8)
    assert not phases.ended(1, 0)
    assert phases.ended(1, 1)  # nothing waits for the parity before the first
    phases.load(1, 8, Action(lambda: seen.append("there")))
    phases.arrive(1)
    assert phases.ended(1, 0)
    assert not phases.ended(1, 1)
    assert seen == ["there"]
    assert not phases.ended(0, 0)
    phases.arrive(0)
    phases.expect(0, 4)
    with pytest.raises(TileError, match="E0515"):
        phases.arrive(0)
