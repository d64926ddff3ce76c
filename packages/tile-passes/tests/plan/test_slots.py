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


TWO_KERNELS = (
    """func @twice(A: global f16[64, 4096], B: global f16[64, 4096],
  C: global f16[64, 4096]) {
"""
    + "".join(
        f"""  kernel @{name} threads = (128) {{
    tiles (bx) in (64) {{
      alloc {name}_s: shared f16[64, 512]
      for {name}_k in (0, 8, 1) pipelined num_stages = 2 {{
        copy {source}[0 : +64, {name}_k * 512 : +512] -> {name}_s[:, :]
        parallel (i, j) in (64, 512) {{ store C[i, {name}_k * 512 + j] = {name}_s[i, j] }}
      }}
    }}
  }}
"""
        for name, source in (("first", "A"), ("second", "B"))
    )
    + "}\n"
)
"""Two kernels that each take 128 KB, which is more than half of what a block has."""


@pytest.mark.parametrize("arch", ["async", "sync"])
def test_kernels_of_one_function_do_not_share_the_memory_of_a_block(arch: str) -> None:
    room = toy_spec(arch).capacity("shared")
    cx = PassContext(target=toy_spec(arch))
    fn = parse_function(TWO_KERNELS)
    plan = run_pipeline(device_pipeline(), State(function=fn), cx).state.plan
    for name in ("first", "second"):
        assert plan.value(f"{name}.{name}_k.depth", 0) == 2
        assert 2 * 64 * 512 * 2 <= plan.value(f"{name}.shared_bytes", 0) <= room
    assert room < 4 * 64 * 512 * 2


LATENT = """func @latent(Q: global f16[64, 256], KV: global f16[4096, 256],
  O: global f32[64, 256]) {
  kernel @latent threads = (128) {
    tiles (bx) in (1) {
      alloc Q_s: shared f16[64, 256]
      alloc KV_s: shared f16[@R, 256]
      alloc score: fragment f32[64, @R]
      alloc W_s: shared f16[64, @R]
      alloc out: fragment f32[64, 256]
      copy Q[:, :] -> Q_s[:, :]
      fill out[:, :], 0.0
      for k in (0, 4096 / @R, 1) pipelined num_stages = 2 {
        copy KV[k * @R : +@R, :] -> KV_s[:, :]
        gemm Q_s[:, :], KV_s[:, :] -> score[:, :] transpose_b, init = true
        parallel (i, j) in (64, @R) { store score[i, j] = exp2(exp2(score[i, j])) }
        copy score[:, :] -> W_s[:, :]
        gemm W_s[:, :], KV_s[:, :] -> out[:, :]
      }
      copy out[:, :] -> O[:, :]
    }
  }
}
"""
"""Two products read one tile, which a third slot lets the second do an iteration later."""


@pytest.mark.parametrize(("rows", "slots"), [(64, 3), (128, 2)])
def test_a_schedule_whose_slots_do_not_fit_gives_way(rows: int, slots: int) -> None:
    cx = PassContext(target=toy_spec("async"))
    fn = parse_function(LATENT.replace("4096 / @R", str(4096 // rows)).replace("@R", str(rows)))
    plan = run_pipeline(device_pipeline(), State(function=fn), cx).state.plan
    assert plan.value("latent.channel[KV_s_ring]", ("", 0))[1] == slots
