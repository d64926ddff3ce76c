"""Tiles whose slots do not begin where a copy engine may put a box are brought by threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tile_ir.target import Table
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.plan.plan_roles import THREADS

COPIES = """func @rows(A: global f16[64, 4096], C: global f16[64, 4096]) {
  kernel @rows threads = (128) {
    tiles (bx) in (64) {
      alloc A_s: shared f16[@R, @W]
      for k in (0, 8, 1) pipelined num_stages = 3 {
        copy A[0 : +@R, k * @W : +@W] -> A_s[:, :]
        parallel (i, j) in (@R, @W) { store C[i, k * @W + j] = A_s[i, j] }
      }
    }
  }
}
"""


def engine_for(rows: int, width: int) -> Any:
    spec = toy_spec("async")
    copy = {name: replace(engine, shared_alignment=128) for name, engine in spec.copy.items()}
    cx = PassContext(target=replace(spec, copy=Table(copy)))
    fn = parse_function(COPIES.replace("@R", str(rows)).replace("@W", str(width)))
    plan = run_pipeline(device_pipeline(), State(function=fn), cx).state.plan
    return plan.value("rows.copy:A_s.engine", THREADS)


@pytest.mark.parametrize(
    ("rows", "width", "boxes"),
    [(1, 8, False), (4, 8, False), (8, 8, True), (1, 64, True), (2, 32, True), (1, 96, False)],
)
def test_slots_of_boxes_begin_at_whole_lines(rows: int, width: int, boxes: bool) -> None:
    assert (engine_for(rows, width) != THREADS) is boxes
