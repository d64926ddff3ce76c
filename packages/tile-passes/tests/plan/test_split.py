"""Loops that two blocks of a cluster share: when, how they are written, and equal results."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.ops import Alloc, Barriers, Combine, CopyPeer, For, Kernel
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.registry import builtin

PRODUCT = """tile.ir 1.0 tile
func @f(A: global f16[M, @K], B: global f16[@K, 64], c: global f32[64], C: global f32[M, 64]) dims (M) {
  kernel @f threads = (128) {
    tiles (by) in (@T) {
      alloc A_s: shared f16[64, 32]
      alloc B_s: shared f16[32, 64]
      alloc C_l: fragment f32[64, 64]
      fill C_l[:, :], 0.0
      for k in (0, @N, 1) pipelined num_stages = 3 {
        copy A[by * 64 : +64, k * 32 : +32] -> A_s[:, :] clip
        copy B[k * 32 : +32, 0 : +64] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      parallel (i, j) in (64, 64) { store C_l[i, j] = C_l[i, j] + c[j] }
      copy C_l[:, :] -> C[by * 64 : +64, 0 : +64] clip
    }
  }
}
"""  # noqa: E501 -- a signature is one line
KEY = "f.k.split"


def text(trips: int = 8, tiles: object = 2) -> str:
    source = PRODUCT.replace("@K", str(32 * trips)).replace("@N", str(trips))
    return source.replace("@T", str(tiles))


def made(source: str, pins: Any = None) -> tuple[Any, Any]:
    fn = parse_function(source)
    cx = PassContext(target=toy_spec("async"), pins=pins or {})
    return fn, run_pipeline(device_pipeline(), State(function=fn), cx).state


def arguments(trips: int) -> dict[str, Any]:
    rng = np.random.default_rng(trips)
    return {
        "A": rng.integers(-2, 3, (100, 32 * trips)).astype(np.float16),
        "B": rng.integers(-2, 3, (32 * trips, 64)).astype(np.float16),
        "c": rng.integers(-2, 3, 64).astype(np.float32),
        "C": np.full((100, 64), np.nan, np.float32),
    }


def equal(before: Any, after: Any, trips: int, **more: Any) -> None:
    args = arguments(trips)
    want = run(before, args)["C"]
    assert np.isfinite(want).all()
    np.testing.assert_array_equal(run(after, args, **more)["C"], want)


@pytest.mark.parametrize("schedule", ["late", "issue"])
@pytest.mark.parametrize("trips", [6, 8, 14])
def test_few_tiles_are_shared_by_two_blocks_each(trips: int, schedule: str) -> None:
    fn, state = made(text(trips))
    decision = state.plan.find(KEY)
    assert (decision.value, decision.by) == (2, "model")
    assert [c.value for c in decision.candidates] == [1, 2]
    (kernel,) = (s for s in walk(state.function.body) if isinstance(s, Kernel))
    assert kernel.cluster == (1, 2)
    stops = {int(s.stop.value) for s in walk(kernel.body) if isinstance(s, For)}  # type: ignore[attr-defined]  # constants
    assert stops == {trips // 2}
    (combine,) = (s for s in walk(kernel.body) if isinstance(s, Combine))
    (barriers,) = (s for s in walk(kernel.body) if isinstance(s, Barriers))
    assert combine.onto == barriers.name
    equal(fn, state.function, trips, schedule=schedule)


def test_what_the_other_block_sends_shares_no_bytes() -> None:
    _, state = made(text())
    made_ = {s.buffer.name: s.buffer for s in walk(state.function.body) if isinstance(s, Alloc)}
    inbox = made_["C_l_inbox"]
    spans = [
        (b.offset, b.offset + b.slots * int(np.prod([e.value for e in b.shape])) * size)
        for b, size in ((made_["A_s"], 2), (made_["B_s"], 2))
    ]
    end = inbox.offset + 64 * 64 * 4
    assert all(end <= low or high <= inbox.offset for low, high in spans)


def test_one_thread_sends_what_the_other_blocks_like_thread_adds() -> None:
    fn, state = made(text())
    cx = PassContext(target=toy_spec("async"))
    lowered = builtin("lower-threads")(state, cx).function
    (sent,) = (s for s in walk(lowered.body) if isinstance(s, CopyPeer))
    assert (sent.src.buffer, sent.dst.buffer) == ("C_l", "C_l_inbox")
    equal(fn, lowered, 8, target=cx.target, workers=4)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (text(7), "its iterations are not known to be a multiple of 2"),
        (text(8, 140), "140 tiles keep all of 132 cores at work"),
        (text(8, "ceildiv(M, 64)"), "how many tiles there are is not known"),
        (
            text(8)
            .replace("alloc A_s", "alloc big: shared f32[51200]\n      alloc A_s")
            .replace("fill C_l[:, :]", "fill big[:], 1.0\n      fill C_l[:, :]")
            .replace("C_l[i, j] + c[j]", "C_l[i, j] + c[j] * big[i]"),
            "16384 bytes of sums do not fit beside 3 stages",
        ),
    ],
)
def test_a_loop_that_stays_whole_says_why(source: str, why: str) -> None:
    _, state = made(source)
    decision = state.plan.find(KEY)
    assert (decision.value, decision.reason) == (1, why)
    with pytest.raises(TileError) as caught:
        made(source, {KEY: 2})
    assert (caught.value.code, caught.value.help) == ("E0702", "possible: 1")


def test_short_loops_are_not_worth_it_but_can_be_pinned() -> None:
    assert made(text(4))[1].plan.find(KEY).value == 1
    fn, state = made(text(4), {KEY: 2})
    assert state.plan.find(KEY).by == "user"
    equal(fn, state.function, 4)


def test_tiles_beside_each_other_are_shared_where_it_is_asked_for() -> None:
    decision = made(text(8, 90))[1].plan.find(KEY)
    assert decision.value == 1
    assert decision.reason == "90 tiles keep more than half of 132 cores at work"
    assert made(text(8, 90), {KEY: 2})[1].plan.find(KEY).by == "user"


def test_operands_that_threads_make_and_further_products_into_the_sums() -> None:
    """Each block makes the operands of its own iterations."""
    (product,) = re.findall(r" +gemm A_s.*\n", text(8))
    more = """\
        parallel (i, j) in (64, 32) { store A_l[i, j] = A_s[i, j] * 2.0:f16 }
        gemm A_l[:, :], B_s[:, :] -> C_l[:, :]
"""
    source = text(8).replace(product, product + more)
    source = source.replace("alloc C_l", "alloc A_l: fragment f16[64, 32]\n      alloc C_l", 1)
    fn, state = made(source)
    assert state.plan.find(KEY).value == 2
    equal(fn, state.function, 8)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fill C_l[:, :], 0.0", "copy c[:] -> C_l[0, :]\n      fill C_l[:, :], 1.0"),
        ("        gemm", "        parallel (i) in (64) { store C_l[i, 0] = 1.0 }\n        gemm"),
        ("        gemm", "        atomic add C[0, 0], 1.0\n        gemm"),
        ("      fill", "      copy c[:] -> C[0, :]\n      fill"),
        ("      fill", "      call_extern bump()\n      fill"),
        ("        gemm", "        call_extern bump()\n        gemm"),
        (") dims (M) {", ") dims (M) numerics strict {"),
    ],
)
def test_sums_that_are_not_all_are_not_shared(before: str, after: str) -> None:
    source = text()
    assert before in source
    _, state = made(source.replace(before, after))
    assert state.plan.find(KEY) is None
