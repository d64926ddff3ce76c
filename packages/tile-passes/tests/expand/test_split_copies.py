"""Copies through registers, where nothing copies while threads compute: where both steps stand, how
many slots and barriers they take, and that programs mean what they meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Atom, For, Store, Sync
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.protocol.check_protocol import verdicts

SCALE = """tile.ir 1.0 tile
func @scale(A: global @T[K, 64], C: global f32[64, 64]) dims (K) {
  kernel @scale threads = (@H) {
    tiles (bx) in (1) {
      alloc a: shared f16[32, 64]
      alloc x: fragment f32[32, 64]
      fill x[:, :], 1.0
      for k in (@B, ceildiv(K, 32), 1) pipelined num_stages = @S {
        copy A[k * 32 : +32, 0 : +64] -> a[:, :] clip
        parallel (i, j) in (32, 64) { store x[i, j] = x[i, j] * 0.5 + f32(a[i, j]) }
      }
      copy x[:, :] -> C[0 : +32, 0 : +64]
    }
  }
}
"""


def scale(kind: str = "f16", threads: int = 128, begin: int = 0, stages: int = 2) -> Any:
    text = SCALE.replace("@T", kind).replace("@H", str(threads))
    return parse_function(text.replace("@B", str(begin)).replace("@S", str(stages)))


def loop_of(made: Any) -> For:
    (loop,) = [s for s in walk(made.after.body) if isinstance(s, For) and s.kind == "serial"]
    return loop


def order(loop: For) -> list[str]:
    """What the trip does, in order: the names of statements, those of branches in their place."""
    names = {"copy": "copy", "gemm": "gemm", "wait": "wait", "acquire": "acquire"}
    out = []
    for s in walk(loop.body):
        name = type(s).__name__.lower()
        if name == "copy":
            out.append(f"{s.src.buffer} -> {s.dst.buffer}")  # type: ignore[attr-defined]
        elif name in names or name in ("release", "commit"):
            out.append(name)
    return out


def lowered(made: Any) -> Any:
    return lower_threads(made.after, toy_spec("plain"))


def same_after_lowering(made: Any, args: dict[str, Any]) -> None:
    want = run(made.before, args)
    got = run(lowered(made), args, target=toy_spec("plain"))
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value)


def barriers(made: Any) -> int:
    """Those of a trip of the loop, once lowered."""
    (loop, *_) = [
        s
        for s in walk(lowered(made).body)
        if isinstance(s, For)
        and s.kind == "serial"
        and any(isinstance(t, Sync) for t in walk(s.body))
    ]
    return sum(isinstance(t, Sync) for t in walk(loop.body))


def test_loads_before_the_product_and_stores_after_it(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm", stages=2), "plain")
    assert order(loop_of(made)) == [
        "wait",
        "A -> A_s_next",
        "B -> B_s_next",
        "gemm",
        "release",
        "acquire",
        "A_s_next -> A_s",
        "B_s_next -> B_s",
        "commit",
    ]
    assert made.plan.value("matmul.copy:A_s.engine", "") == "registers"
    assert made.plan.value("matmul.k.depth", 0) == 2
    assert barriers(made) == 1


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
@pytest.mark.parametrize("k", [1, 32, 33, 160])
def test_a_product_equals_the_oracle(programs: Any, stages: int, k: int) -> None:
    made = programs.planned(programs.tile("gemm", stages=stages), "plain")
    assert made.plan.value("matmul.k.depth", 0) == min(stages, 2)
    assert [v.kind for v in verdicts(made.after)] == ["proved"]
    programs.compare(made, "gemm", k)
    same_after_lowering(made, programs.arguments("gemm", k))


def test_tiles_that_are_read_together_share_a_ring_and_its_barrier(programs: Any) -> None:
    made = programs.planned(programs.tile("gated", stages=2), "plain")
    ring = made.plan.value("gated.channel[A_s_ring]", ())
    assert ring == ("registers", 2, "A_s", "B_s", "G_s")
    assert barriers(made) == 1
    for k in (1, 64, 100):
        programs.compare(made, "gated", k)
        same_after_lowering(made, programs.arguments("gated", k))


def test_one_slot_costs_a_barrier(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm", stages=1), "plain")
    assert barriers(made) == 2


@pytest.mark.parametrize("pins", [{}, {"attn.j.depth": 2}])
def test_two_rings_free_each_others_slots(programs: Any, pins: dict[str, object]) -> None:
    fn = programs.tile("attention", stages=2)
    made = programs.planned(fn, "plain", pins)
    slots = [made.plan.value(f"attn.channel[{n}_ring]", ())[1] for n in ("K_s", "V_s")]
    assert slots == ([2, 2] if pins else [1, 1])
    assert barriers(made) == 2
    for k in (64, 100, 200):
        programs.compare(made, "attention", k)


def test_a_tile_is_put_down_behind_the_other_wait_before_the_next_is_fetched(
    programs: Any,
) -> None:
    made = programs.planned(programs.tile("attention", stages=2), "plain")
    found = [x for x in order(loop_of(made)) if "_s" in x or x in ("wait", "gemm")]
    assert found == [
        "wait",
        "V_s_next -> V_s",
        "K -> K_s_next",
        "gemm",
        "wait",
        "K_s_next -> K_s",
        "V -> V_s_next",
        "gemm",
    ]


@pytest.mark.parametrize("kind", ["f16", "f32", "i8"])
@pytest.mark.parametrize("threads", [64, 512])
@pytest.mark.parametrize("begin", [0, 3])
def test_copies_that_convert_and_loops_without_a_trip(
    programs: Any, kind: str, threads: int, begin: int
) -> None:
    made = programs.planned(scale(kind, threads, begin), "plain")
    held = next(
        s for s in walk(made.after.body) if getattr(s, "buffer", None) and s.buffer.name == "a_next"
    )  # type: ignore[attr-defined]
    assert held.buffer.dtype.name == kind  # type: ignore[attr-defined]
    for k in (0, 7, 64, 90, 200):
        a = np.random.default_rng(k).integers(-4, 5, (k, 64))
        args = {"A": a.astype({"f16": "f2", "f32": "f4", "i8": "i1"}[kind])}
        args["C"] = np.zeros((64, 64), np.float32)
        want = run(made.before, args)["C"]
        for schedule in ("late", "issue"):
            np.testing.assert_array_equal(run(made.after, args, schedule=schedule)["C"], want)  # type: ignore[arg-type]
        same_after_lowering(made, args)


def test_the_second_slot_is_left_out_where_it_does_not_fit(programs: Any) -> None:
    text = programs.source("gemm", stages=2).replace("[32, 64]", "[160, 64]")
    text = text.replace("[64, 32]", "[64, 160]").replace("k * 32 : +32", "k * 160 : +160")
    text = text.replace("ceildiv(K, 32)", "ceildiv(K, 160)")
    made = programs.planned(parse_function(text), "plain")
    assert made.plan.value("matmul.k.depth", 0) == 1
    assert "num_stages = 2" in next(d.reason for d in made.plan if d.key == "matmul.k.depth")


def test_without_registers_to_spare_the_threads_copy_at_once(programs: Any) -> None:
    text = programs.source("gemm", stages=2).replace("threads = (128)", "threads = (64)")
    text = text.replace("f32[64, 64]", "f32[512, 64]").replace("[64, 32]", "[512, 32]")
    text = text.replace("by * 64 : +64", "by * 512 : +512").replace(
        "ceildiv(M, 64)", "ceildiv(M, 512)"
    )
    made = programs.planned(parse_function(text), "plain")
    assert made.plan.value("matmul.copy:A_s.engine", "") == "threads"


def test_an_operand_whose_rows_are_k_is_turned_on_the_way(programs: Any) -> None:
    made = programs.planned(programs.tile("gemm", stages=2), "plain")
    assert made.plan.value("matmul.B_s.layout", "") == "d0 (32:1) d1 (64:32) swizzle<3,3,4>"
    assert made.plan.value("matmul.A_s.layout", "") == "d0 (64:32) d1 (32:1) swizzle<3,3,4>"
    low = lowered(made)
    lanes = {
        s.value.dtype.lanes
        for s in walk(low.body)
        if isinstance(s, Store) and s.buffer in ("a_r", "b_r")
    }
    assert lanes == {4}
    assert any(isinstance(s, Atom) for s in walk(low.body))
