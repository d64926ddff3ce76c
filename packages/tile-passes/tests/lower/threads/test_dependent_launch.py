"""Kernels that begin before the one in front has ended: where they wait, and what comes earlier."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import (
    BarrierExpect,
    Barriers,
    BoxLoad,
    If,
    Kernel,
    LaunchDependents,
    Role,
    WaitDependency,
)
from tile_ir.rewrite import map_stmts, replace, walk, with_body
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.verify import check
from tile_passes.base import PassContext
from tile_passes.lower.dependent_launch import dependent_launch
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.plan.model import Plan

PRODUCT = Path(__file__).with_name("boxes.tir").read_text().replace("(384) {", "(384)%s {")
"""A producer of boxes of A and B, two groups that multiply."""
EARLY = ", dependent, unwritten = (B)"

PAIR = """
func @pair(A: global f32[128], B: global f32[128], C: global f32[128]) {
  kernel @first {
    tiles (b) in (1) {
      parallel (i) in (128) { store B[i] = A[i] + 1.0 }
    }
  }
  kernel @second%s {
    tiles (b) in (1) {
      parallel (i) in (128) { store C[i] = B[i] * 2.0 }
    }
  }
}
"""


def lowered(text: str, arch: str = "async") -> Any:
    spec = toy_spec(arch)
    fn = parse_function(text)
    check(fn)
    context = PassContext(target=spec)
    made = dependent_launch(lower_threads(fn, context.target), context, Plan())
    check(made)
    return made


def count(fn: Any, kind: type) -> int:
    return sum(isinstance(s, kind) for s in walk(fn.body))


def kernels(fn: Any) -> list[Kernel]:
    return [s for s in walk(fn.body) if isinstance(s, Kernel)]


def producers(fn: Any) -> list[If]:
    """Branches that start copies and hold no others that do."""
    return [
        s
        for s in walk(fn.body)
        if isinstance(s, If)
        and any(isinstance(n, BoxLoad) for n in walk(s.then))
        and not any(isinstance(n, If) and _loads(n.then) for n in walk(s.then))
    ]


def _loads(body: Any) -> bool:
    return any(isinstance(n, BoxLoad) for n in walk(body))


def test_a_kernel_waits_before_it_uses_memory_and_the_one_in_front_lets_it_go():
    first, second = kernels(lowered(PAIR % " dependent"))
    kinds = [type(s) for s in walk(first.body)]
    assert LaunchDependents in kinds
    assert WaitDependency not in kinds
    order = [type(s).__name__ for s in walk(second.body)]
    assert order.index("WaitDependency") < order.index("Store")
    assert order.index("WaitDependency") < order.index("LaunchDependents")


def test_kernels_in_order_stay_as_they_are():
    assert count(lowered(PAIR % ""), LaunchDependents) == 0
    assert count(lowered(PRODUCT % ""), LaunchDependents) == 0


def test_a_device_without_such_launches_runs_kernels_one_after_the_other():
    made = lowered(PAIR % " dependent", "sync")
    assert count(made, WaitDependency) == count(made, LaunchDependents) == 0


def test_what_nobody_writes_has_a_thread_that_does_not_wait():
    made = lowered(PRODUCT % EARLY)
    early, late = producers(made)
    assert [s.src.buffer for s in walk(early.then) if isinstance(s, BoxLoad)] == ["B"]
    assert [s.src.buffer for s in walk(late.then) if isinstance(s, BoxLoad)] == ["A"]
    assert not any(isinstance(s, WaitDependency) for s in walk(early.then))
    assert isinstance(late.then[0], WaitDependency)
    sizes = [
        s.bytes for part in (early, late) for s in walk(part.then) if isinstance(s, BarrierExpect)
    ]
    assert sizes == [16384, 16384]
    plain = lowered(PRODUCT % "")
    arrivals = [
        {s.name: s.arrivals for s in walk(f.body) if isinstance(s, Barriers)} for f in (plain, made)
    ]
    assert arrivals[0] == {"ab_full": 1, "ab_empty": 8}
    assert arrivals[1] == {"ab_full": 2, "ab_empty": 8}


@pytest.mark.parametrize("rows", [128, 200])
def test_two_threads_bring_what_one_did(rows):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((rows, 320), (320, 128)))
    for text in (PRODUCT % "", PRODUCT % EARLY):
        c = np.full((rows, 128), np.nan, np.float16)
        got = run(lowered(text), {"A": a, "B": b, "C": c}, target=toy_spec("async"))
        np.testing.assert_array_equal(got["C"], a.astype(np.float32) @ b.astype(np.float32))


def test_a_producer_of_another_shape_waits_whole():
    """All its copies are early ones, or its role has one warp, or a copy's place is in memory."""
    both = lowered(PRODUCT % ", dependent, unwritten = (A, B)")
    narrow = parse_function(PRODUCT % EARLY)

    def with_one_warp(s: Any) -> Any:
        if isinstance(s, Kernel):
            return replace(s, threads=(288,))
        return replace(s, warps=1) if isinstance(s, Role) and s.name == "producer" else None

    narrow = with_body(narrow, map_stmts(narrow.body, with_one_warp))
    context = PassContext(target=toy_spec("async"))
    alone = dependent_launch(lower_threads(narrow, context.target), context, Plan())
    for made in (both, alone):
        assert len(producers(made)) == 1
        assert count(made, WaitDependency) == 1


FIRST = """
func @weighted(Q: global f16[64, 64], W: global f16[K, 64], C: global f16[64, 64]) dims (K)
  stage scheduled {
  kernel @weighted threads = (256), dependent, unwritten = (W) {
    tiles (b) in (1) {
      alloc Q_s: shared f16[64, 64] offset 0
      alloc W_s: shared f16[64, 64] slots 2 offset 8192
      channel q: ring(1) carries (Q_s) from engine box_load to role compute arrivals 4 bytes = 8192
      channel w: ring(2) carries (W_s) from engine box_load to role compute arrivals 4 bytes = 8192
      role producer warps = 4, elect = 1 {
        acquire q
        issue box_load onto = q { copy Q[:, :] -> Q_s@q[:, :] }
        commit q
        for k in (0, ceildiv(K, 64), 1) serial {
          acquire w
          issue box_load onto = w { copy W[k * 64 : +64, :] -> W_s@w[:, :] clip }
          commit w
        }
      }
      role compute warps = 4 {
        alloc sum: fragment f16[64, 64] layout [thread (64:m*1, 2:n*32) value (32:n*1)]
        wait q
        copy Q_s@q[:, :] -> sum[:, :]
        release q
        for k in (0, ceildiv(K, 64), 1) serial {
          wait w
          parallel (i, j) in (64, 64) { store sum[i, j] = sum[i, j] + W_s@w[i, j] }
          release w
        }
        copy sum[:, :] -> C[:, :]
      }
    }
  }
}
"""


def test_a_copy_in_front_of_the_loop_that_comes_early_is_left_to_the_thread_that_waits():
    made = lowered(FIRST)
    early, late = producers(made)
    assert [s.src.buffer for s in walk(early.then) if isinstance(s, BoxLoad)] == ["W"]
    assert [s.src.buffer for s in walk(late.then) if isinstance(s, BoxLoad)] == ["Q"]
    rng = np.random.default_rng(3)
    q, w = (rng.integers(-3, 4, (n, 64)).astype(np.float16) for n in (64, 192))
    c = np.full((64, 64), np.nan, np.float16)
    got = run(made, {"Q": q, "W": w, "C": c}, target=toy_spec("async"))
    np.testing.assert_array_equal(got["C"], q + w.reshape(3, 64, 64).sum(axis=0))


def test_what_another_kernel_of_the_function_writes_is_not_read_early():
    fn = parse_function(PRODUCT % EARLY)
    writer = parse_function(
        "func @g(B: global f16[K, 128]) dims (K) stage scheduled {\n  kernel @writer {\n"
        "    tiles (i) in (K) {\n      alloc x: fragment f16[128]\n      fill x[:], 0.0\n"
        "      copy x[:] -> B[i, :]\n    }\n  }\n}\n"
    )
    fn = dataclasses.replace(fn, body=(*writer.body, *fn.body))
    context = PassContext(target=toy_spec("async"))
    made = dependent_launch(lower_threads(fn, context.target), context, Plan())
    assert len(producers(made)) == 1
