"""What expanded programs look like where it matters: overlap, barriers, fences, conversions."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tile_ir.ops import (
    Convert,
    Fence,
    For,
    Issue,
    Kernel,
    Parallel,
    Role,
    Settle,
    Sync,
    Tiles,
    Wait,
)
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_stmt
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.expand.insert_syncs import insert_syncs
from tile_passes.manager import run_pipeline
from tile_passes.plan.model import Plan
from tile_passes.plan.plan_roles import ROLES_APART
from tile_passes.protocol.check_protocol import verdicts


def role(made: Any, name: str) -> Role:
    return next(s for s in walk(made.after.body) if isinstance(s, Role) and s.name == name)


def steady(body: Any) -> For:
    return next(s for s in walk(body) if isinstance(s, For))


def heads(body: Any) -> list[str]:
    """The first words of each statement, without what is nested."""
    return [" ".join(print_stmt(s).split()[:2]) for s in body]


def test_the_steady_loop_of_a_product_keeps_one_in_flight(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm"), "async", {"matmul.copy:C.interleave": ()})
    assert made.plan.value("matmul.roles", ()) == ROLES_APART
    loop = steady(role(made, "compute").body)
    assert heads(loop.body) == ["wait A_s_ring", "issue mma", "group mma", "if k"]
    inner = loop.body[-1].then  # type: ignore[attr-defined]  # an If
    assert [print_stmt(s) for s in inner] == ["settle t_C_l back = 1", "release A_s_ring"]


TWO_SETS = """tile.ir 1.0 tile
func @two(A: global f16[64, K], B: global f16[64, K], C: global f32[64, 64]) dims (K) {
  kernel @two threads = (128) {
    tiles (bx) in (1) {
      alloc a: shared f16[64, 64]
      alloc b: shared f16[64, 64]
      alloc p: fragment f16[64, 32]
      alloc q: fragment f16[64, 32]
      alloc x: fragment f32[64, 64]
      fill x[:, :], 0.0
      for k in (0, K // 64, 1) pipelined num_stages = 3 {
        copy A[:, k * 64 : +64] -> a[:, :]
        copy B[:, k * 64 : +64] -> b[:, :]
        parallel (i, j) in (64, 32) { store p[i, j] = a[i, j] * f16(2.0) }
        gemm p[:, :], b[:, 0 : +32] -> x[:, :] transpose_b = true
        parallel (i, j) in (64, 32) { store q[i, j] = a[i, j + 32] * f16(2.0) }
        gemm q[:, :], b[:, 32 : +32] -> x[:, :] transpose_b = true
      }
      copy x[:, :] -> C[:, :]
    }
  }
}
"""


def test_register_sets_that_take_turns_settle_before_the_next_iteration(programs: Any) -> None:
    made = programs.planned(parse_function(TWO_SETS), "async")
    loop = steady(role(made, "compute").body)
    kinds = [s for s in walk(loop.body) if isinstance(s, (Parallel, Issue, Settle))]
    assert heads(kinds) == [
        "parallel (i,",
        "issue mma",
        "settle t_x_1",
        "parallel (i,",
        "issue mma",
        "settle t_x",
    ]


def test_attention_overlaps_the_second_product_with_the_next_first_one(programs: Any) -> None:
    made = programs.planned(programs.tile("attention", stages=2), "async")
    assert made.plan.value("attn.j.stage", ()) == (("gemm:acc_o", 1),)
    loop = steady(role(made, "compute").body)
    kinds = [s for s in loop.body if isinstance(s, (Issue, Wait, Settle))]
    assert [print_stmt(s).split(" {")[0] for s in kinds] == [
        "wait K_s_ring",
        "issue mma",
        "wait V_s_ring",
        "issue mma",
        "settle t_acc_s",
        "settle t_acc_o",
    ]
    # The loop has at least one trip, which is proved: neither branch nor serial copy is left.
    assert "if" not in made.text
    producer = steady(role(made, "producer").body)
    fills = [s.onto for s in producer.body if isinstance(s, Issue)]
    assert fills == ["K_s_ring", "V_s_ring"]


def test_copies_run_ahead_in_the_one_role_of_a_synchronous_target(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm", stages=4), "sync")
    kernel = next(s for s in walk(made.after.body) if isinstance(s, Kernel))
    assert kernel.threads == (128,)
    loop = next(s for s in walk(kernel.body) if isinstance(s, For))
    assert heads(loop.body) == ["wait A_s_ring", "if k", "gemm A_s@A_s_ring[0", "release A_s_ring"]
    assert "k + 3 < ceildiv(K, 32)" in made.text


def test_a_gated_pair_settles_once_for_both(programs: Any) -> None:
    made = programs.planned(programs.tile("gated"), "async")
    loop = steady(role(made, "compute").body)
    issued = [s for s in walk(loop.body) if isinstance(s, Issue)]
    settled = [s for s in walk(loop.body) if isinstance(s, Settle)]
    assert len(issued) == 2
    assert [print_stmt(s) for s in settled] == ["settle t_gate back = 1"]


READ_IN_A_LOOP = """
func @read(A: global f32[64], B: global f32[8, 64]) stage scheduled {
  kernel @read threads = (64) {
    tiles (bx) in (1) {
      alloc s: shared f32[64]
      copy A[:] -> s[:]
      for k in (0, 8, 1) serial {
        parallel (i) in (64) { store B[k, i] = s[63 - i] }
        @MORE
      }
    }
  }
}
"""


@pytest.mark.parametrize(
    ("more", "before", "inside"),
    [("", 1, 0), ("parallel (i) in (64) { store s[i] = B[k, 63 - i] }", 0, 2)],
    ids=["only read", "written too"],
)
def test_a_barrier_stands_before_a_loop_that_only_reads(
    more: str, before: int, inside: int
) -> None:
    fn = parse_function(READ_IN_A_LOOP.replace("@MORE", more))
    made = insert_syncs(fn, PassContext(target=toy_spec("sync")), Plan())
    loop = steady(made.body)
    assert sum(isinstance(s, Sync) for s in loop.body) == inside
    assert sum(isinstance(s, Sync) for s in walk(made.body)) == before + inside


OVER_TWO = """
func @over(A: global f32[64], B: global f32[128]) stage scheduled {
  kernel @over threads = (64) {
    tiles (bx) in (1) {
      alloc s: shared f32[64] offset 0
      alloc t: shared f32[64] offset 256
      alloc u: shared f32[128] offset 0
      copy A[:] -> s[:]
      copy A[:] -> t[:]
      copy t[:] -> B[0 : +64]
      fill u[:], 0.0
      copy u[:] -> B[:]
    }
  }
}
"""


def test_a_barrier_stands_before_a_buffer_laid_over_two() -> None:
    """The two have none between each other."""
    made = insert_syncs(parse_function(OVER_TWO), PassContext(target=toy_spec("sync")), Plan())
    (tiles,) = (s for s in walk(made.body) if isinstance(s, Tiles))
    words = [head.partition("[")[0] for head in heads(tiles.body)]
    assert words[3:6] == ["copy A", "copy A", "sync block"]
    assert words[6:] == ["copy t", "sync block", "fill u", "sync block", "copy u"]


STAGED = """tile.ir 1.0 tile
func @staged(A: global f16[64, 64], B: global f16[64, 64], C: global f32[64, 64]) {
  kernel @staged threads = (128) {
    tiles (bx) in (1) {
      alloc a: shared f16[64, 64]
      alloc b: shared f16[64, 64]
      alloc x: fragment f32[64, 64]
      parallel (i, j) in (64, 64) { store a[i, j] = A[i, j] + f16(1.0) }
      copy B[:, :] -> b[:, :]
      gemm a[:, :], b[:, :] -> x[:, :] init = true
      parallel (i, j) in (64, 64) { store a[i, j] = f16(x[i, j] * 0.0) }
      parallel (i, j) in (64, 64) { store C[i, j] = x[i, j] + f32(a[j, i]) }
    }
  }
}
"""


def made_of(text: str, arch: Any) -> Any:
    cx = PassContext(target=toy_spec(arch))
    return run_pipeline(device_pipeline(), State(function=parse_function(text)), cx).state.function


def test_ordinary_writes_are_fenced_from_the_engine_and_barriers_order_threads() -> None:
    fn = made_of(STAGED, "async")
    order = [s for s in walk(fn.body) if isinstance(s, (Issue, Fence, Sync, Settle))]
    assert [print_stmt(s).split(" {")[0] for s in order] == [
        "issue group_load onto = b_ring",
        "fence generic -> async",
        "sync block",
        "issue mma",
        "settle t_x",
        "sync block",
        "sync block",
    ]


def test_without_proxies_there_is_no_fence() -> None:
    found = [s for s in walk(made_of(STAGED, "sync").body) if isinstance(s, (Fence, Sync))]
    assert [print_stmt(s) for s in found] == ["sync block"] * 3


CONVERTED = """tile.ir 1.0 tile
func @conv(A: global f16[64, 64], B: global f16[64, 64], C: global f32[64, 64]) {
  kernel @conv threads = (128) {
    tiles (bx) in (1) {
      alloc a: shared f16[64, 64]
      alloc x: fragment f32[64, 64]
      alloc y: fragment f32[64, 64] layout [thread (16:d1*4, 8:d0*1) value (4:d1*1, 8:d0*8)]
      copy B[:, :] -> a[:, :]
      gemm a[:, :], a[:, :] -> x[:, :] init = true
      parallel (i, j) in (64, 64) { store y[i, j] = x[i, j] * 2.0 }
      copy y[:, :] -> C[:, :]
    }
  }
}
"""


@pytest.mark.parametrize("arch", ["async", "sync"])
def test_a_pinned_layout_is_kept_and_converted(arch: str) -> None:
    fn = made_of(CONVERTED, arch)
    (found,) = [s for s in walk(fn.body) if isinstance(s, Convert)]
    assert (found.src.buffer, found.dst.buffer, found.by) == ("x", "x_c", "shared")


@pytest.mark.parametrize("arch", ["async", "sync"])
def test_several_tiles_per_block_are_proved_too(programs: Any, arch: str) -> None:
    made = programs.planned(programs.tile("gemm"), arch, {"matmul.tiles.claim": "static"})
    (found,) = verdicts(made.after)
    assert found.kind == "proved", found.reason


def test_planning_and_expanding_attention_stays_within_its_budget(programs: Any) -> None:
    fn, cx = programs.tile("attention"), PassContext(target=toy_spec("async"))
    steps = [s for s in device_pipeline().steps if s.run.phase != "legalize"]

    def once() -> float:
        state, start = State(function=fn), time.process_time()
        for step in steps:
            state = step.run(state, cx)
        return time.process_time() - start

    assert min(once() for _ in range(4)) < 0.120
