"""Pins are taken, and refused with what is possible."""

from __future__ import annotations

from typing import Any

import pytest

from tile_ir.diag import TileError
from tile_ir.ops import Kernel, Role
from tile_ir.rewrite import walk
from tile_ir.text import parse_function


def refused(programs: Any, name: str, pins: dict[str, object], arch: str = "async") -> TileError:
    with pytest.raises(TileError) as caught:
        programs.planned(programs.tile(name), arch, pins)
    return caught.value


def test_a_pinned_depth_is_taken(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm"), "async", {"matmul.k.depth": 2})
    found = made.plan.find("matmul.k.depth")
    assert (found.value, found.by) == (2, "user")
    assert "ring(2)" in made.text
    programs.compare(made, "gemm", 100)


def test_a_pin_that_names_nothing(programs: Any) -> None:
    error = refused(programs, "gemm", {"matmul.k.deph": 2})
    assert error.code == "E0701"
    assert error.help == "did you mean matmul.k.depth?"


def test_a_pin_that_is_impossible(programs: Any) -> None:
    error = refused(programs, "gemm", {"matmul.k.depth": 90})
    assert error.code == "E0702"
    assert error.help == "possible: 1, 2, 3, 4, 5, 6, 7, 8"


def test_pinned_roles_change_the_engine(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm"), "async", {"matmul.roles": ["compute"]})
    assert made.plan.value("matmul.copy:A_s.engine", "") == "group_load"
    assert "role" not in made.text.split("channel")[0]
    for k in (1, 40, 200):
        programs.compare(made, "gemm", k)


def test_one_warp_copies_for_the_others_where_no_registers_move(programs: Any) -> None:
    pins = {"matmul.registers": (0, 0), "matmul.service": 1}
    made = programs.planned(programs.tile("gemm"), "async", pins)
    (kernel,) = (s for s in walk(made.after.body) if isinstance(s, Kernel))
    roles = {s.name: s.warps for s in walk(kernel.body) if isinstance(s, Role)}
    assert roles["producer"] == 1
    assert kernel.threads == (32 * sum(roles.values()),)
    programs.compare(made, "gemm", 100)
    error = refused(programs, "gemm", {"matmul.service": 3})
    assert (error.code, error.help) == ("E0702", "possible: 4, 1")


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_pinned_stages_of_attention(programs: Any, stage: int) -> None:
    pins = {"attn.j.stage[gemm:acc_o]": stage}
    made = programs.planned(programs.tile("attention"), "async", pins)
    for k in (1, 65, 200):
        programs.compare(made, "attention", k)


def test_a_pinned_order_that_breaks_a_dependence(programs: Any) -> None:
    order = ["parallel:C_l", "gemm:part"]
    error = refused(programs, "scaled", {"scaled.k.order": order})
    assert error.code == "E0704"
    assert error.notes == ("parallel:C_l must come after gemm:part",)
    error = refused(programs, "scaled", {"scaled.k.order": ["gemm:part"]})
    assert error.code == "E0702"


def test_stages_that_do_not_fit(programs: Any) -> None:
    with pytest.raises(TileError) as caught:
        programs.planned(programs.tile("gemm", n=512, stages=8), "sync")
    assert caught.value.code == "E0703"
    assert caught.value.help == "num_stages = 4 fits"


def test_a_loop_may_ask_for_more_stages_than_the_planner_would_take(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm", n=64, stages=11), "async")
    assert made.plan.value("matmul.k.depth", 0) == 11


OVERWRITES = """
func @steps(A: global f32[n, 64], B: global f32[64]) dims (n) {
  kernel @steps threads = (128) {
    tiles (b) in (1) {
      alloc x: shared f32[64]
      alloc y: shared f32[64]
      alloc total: fragment f32[64]
      fill total[:], 0.0
      for k in (0, n, 1) pipelined order = (0, 1, 2), stage = (0, 0, 1) {
        copy A[k, 0 : +64] -> x[:]
        copy x[:] -> y[:]
        parallel (i) in (64) {
          store total[i] = total[i] * 0.5 + y[i]
        }
      }
      copy total[:] -> B[:]
    }
  }
}
"""


def test_a_loops_own_schedule_that_breaks_a_dependence_is_not_taken(programs: Any) -> None:
    """There is one y here, which the next trip would overwrite before it is read."""
    made = programs.planned(parse_function(OVERWRITES), "sync")
    found = made.plan.find("steps.k.stage")
    assert (found.value, found.by) == ((), "model")
    assert "copy:y of the next iteration must come after parallel:total" in found.reason
    kept = parse_function(OVERWRITES.replace("stage = (0, 0, 1)", "stage = (0, 0, 0)"))
    assert programs.planned(kept, "sync").plan.find("steps.k.stage").by == "user"
