"""Roles, barriers and copies in flight that a tile program has of its own."""

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.text import parse_module

PIPELINE = """tile.ir 1.0 tile

func @f(A: global f32[T, 8], B: global f32[T, 8]) dims (T) {
  kernel @f threads = (256) {
    tiles (bx) in (1) {
      alloc s: shared f32[2, 8]
      barriers full: [2] arrivals ARRIVALS
      barriers empty: [2] arrivals 128
      role use threads = 128 {
        for k in (0, T, 1) serial {
          USE
          copy s[k % 2, :] -> B[k, :]
          barrier_arrive empty[k % 2]
        }
      }
      role bring threads = 128 {
        for k in (0, T, 1) serial {
          barrier_wait empty[k % 2] phase FREE
          issue bulk onto = full, index = k % 2 {
            copy A[k, :] -> s[k % 2, :]
          }
          barrier_arrive full[k % 2]
        }
      }
    }
  }
}
"""
RIGHT = {
    "ARRIVALS": "128",
    "USE": "barrier_wait full[k % 2] phase k // 2 % 2",
    "FREE": "(k // 2 + 1) % 2",
}


def executed(schedule="late", trips=5, seed=None, **changes):
    text = PIPELINE
    for name, value in (RIGHT | changes).items():
        text = text.replace(name, value)
    (fn,) = parse_module(text).functions
    a = np.arange(trips * 8, dtype=np.float32).reshape(trips, 8)
    got = run(fn, {"A": a, "B": np.full_like(a, 9)}, schedule=schedule, seed=seed)["B"]
    return a, got


@pytest.mark.parametrize("schedule", ["late", "issue"])
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_two_roles_and_a_ring(schedule, trips):
    a, got = executed(schedule, trips)
    np.testing.assert_array_equal(got, a)


@pytest.mark.parametrize("seed", range(4))
def test_turns_do_not_matter(seed):
    a, got = executed(seed=seed)
    np.testing.assert_array_equal(got, a)


def test_arrivals_of_other_threads_than_announced():
    with pytest.raises(TileError, match=r"128 threads arrive at full\[0\]") as caught:
        executed(ARRIVALS="100")
    assert caught.value.code == "E0515"
    assert caught.value.help == ("let 100 threads arrive in each phase, or declare more arrivals")


def test_too_few_arrivals_are_a_deadlock():
    with pytest.raises(TileError, match="deadlock") as caught:
        executed(ARRIVALS="129")
    assert caught.value.code == "E0507"
    assert [n.split(" waits")[0] for n in caught.value.notes] == [
        "role bring, group 0,",
        "role use, group 0,",
    ]


def test_a_slot_that_nothing_waited_for_is_undefined():
    # Who is declared first goes ahead where copies are done at once.
    _, got = executed("issue", trips=1, USE="assume true", FREE="0")
    assert np.isnan(got).all()


def test_a_first_wait_that_should_pass():
    with pytest.raises(TileError, match="deadlock"):
        executed(FREE="k // 2 % 2")


ALONE = """tile.ir 1.0 tile

func @f(A: global f32[64], B: global f32[64]) {
  kernel @f threads = (128) {
    tiles (bx) in (1) {
      alloc s: shared f32[64]
      barriers p: [2] arrivals 1 each = (64, 128)
      issue runs {
        copy A[0 : +32] -> s[0 : +32]
      }
      commit_group runs
      issue runs {
        copy A[32 : +32] -> s[32 : +32]
      }
      commit_group runs
      settle_count runs <= PENDING
      barrier_arrive p[WHICH]
      barrier_wait p[WHICH] phase 0
      sync block
      copy s[:] -> B[:]
    }
  }
}
"""


def alone(pending, which):
    (fn,) = parse_module(
        ALONE.replace("PENDING", str(pending)).replace("WHICH", str(which))
    ).functions
    return run(fn, {"A": np.ones(64, np.float32), "B": np.zeros(64, np.float32)})["B"]


def test_groups_of_copies_settle_in_order():
    assert (alone(0, 1) == 1).all()
    early = alone(1, 1)
    assert (early[:32] == 1).all()
    assert np.isnan(early[32:]).all()


def test_each_barrier_has_its_own_arrivals():
    with pytest.raises(TileError, match=r"128 threads arrive at p\[0\]"):
        alone(0, 0)
