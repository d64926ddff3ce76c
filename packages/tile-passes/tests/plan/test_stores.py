"""Results that leave through a copy engine: when, in which chunks, and how the program looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Channel, Issue, SettleCount, Sync
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_stmt
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.protocol.check_protocol import verdicts

WIDE = """tile.ir 1.0 tile
func @wide(A: global f16[M, K], B: global f16[K, N], C: global f16[M, @C]) dims (M, N, K) {
  kernel @wide threads = (256) {
    tiles (bx, by) in (ceildiv(N, 256), ceildiv(M, 128)) {
      alloc A_s: shared f16[128, 64]
      alloc B_s: shared f16[64, 256]
      alloc C_l: fragment f32[128, 256]
      fill C_l[:, :], 0.0
      for k in (0, ceildiv(K, 64), 1) pipelined num_stages = @S {
        copy A[by * 128 : +128, k * 64 : +64] -> A_s[:, :] clip
        copy B[k * 64 : +64, bx * 256 : +256] -> B_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
      }
      copy C_l[:, :] -> C[by * 128 : +128, bx * 256 : +256] clip
    }
  }
}
"""

BY_HAND = """tile.ir 1.0 tile
func @by_hand(A: global f16[M, 64], C: global f16[M, 64]) dims (M) {
  kernel @by_hand threads = (128) {
    tiles (by) in (ceildiv(M, 64)) {
      alloc x: fragment f16[64, 64]
      alloc C_s: shared f16[64, 64]
      copy A[by * 64 : +64, 0 : +64] -> x[:, :] clip
      copy x[:, :] -> C_s[:, :]
      copy C_s[:, :] -> C[by * 64 : +64, 0 : +64] clip
    }
  }
}
"""


SUMS = """tile.ir 1.0 tile
func @sums(A: global f16[M, 64], B: global f16[64, N], C: global f32[M, 64]) dims (M, N) {
  kernel @sums threads = (128) {
    tiles (bx) in (ceildiv(N, 64)) {
      alloc B_s: shared f16[64, 64]
      alloc A_s: shared f16[64, 64]
      alloc C_l: fragment f32[64, 64]
      copy B[0 : +64, bx * 64 : +64] -> B_s[:, :] clip
      for k in (0, ceildiv(M, 64), 1) pipelined num_stages = 2 {
        copy A[k * 64 : +64, 0 : +64] -> A_s[:, :] clip
        gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = true
        atomic_tile add C_l[:, :] -> C[k * 64 : +64, 0 : +64] clip
      }
    }
  }
}
"""
"""Each block adds its part to every tile of rows."""


def made_of(text: str, arch: Any = "async", pins: Any = None) -> Any:
    cx = PassContext(target=toy_spec(arch), pins=pins or {})
    return run_pipeline(device_pipeline(), State(function=parse_function(text)), cx).state


AT_ONCE = {"wide.copy:C.interleave": ()}


def wide(stages: int = 4, columns: str = "N") -> str:
    return WIDE.replace("@S", str(stages)).replace("@C", columns)


def test_a_result_leaves_in_chunks_of_the_widest_swizzled_row() -> None:
    state = made_of(wide(), pins=AT_ONCE)
    assert state.plan.value("wide.copy:C.engine", "") == "box_store"
    assert state.plan.value("wide.C_stage.chunk", ()) == (128, 64)
    assert state.plan.value("wide.channel[C_stage_ring]", ()) == ("box_store", 2, "C_stage")
    assert state.plan.value("wide.C_stage.layout", "") == "d0 (128:64) d1 (64:1) swizzle<3,4,3>"
    assert state.plan.value("wide.shared_bytes", 0) == 4 * 48 * 1024 + 2 * 16 * 1024
    issued = [s for s in walk(state.function.body) if isinstance(s, Issue)]
    assert [s.engine for s in issued].count("box_store") == 4


def test_what_surrounds_a_chunk() -> None:
    state = made_of(wide(), pins=AT_ONCE)
    lines = [
        print_stmt(s).split(" {")[0]
        for s in walk(state.function.body)
        if not isinstance(s, Channel)
    ]
    first = lines.index("copy C_l[0 : +128, 64 : +64] -> C_stage@C_stage_ring[0 : +128, 0 : +64]")
    assert lines[first - 1] == "acquire C_stage_ring"
    assert lines[first + 1 : first + 4] == [
        "fence generic -> async",
        "sync group",
        "issue box_store",
    ]
    assert lines[first + 5] == "commit C_stage_ring"
    last = [s for s in walk(state.function.body) if isinstance(s, SettleCount)]
    assert [(s.engine, s.pending, s.read) for s in last] == [("box_store", 0, True)]


def test_each_group_of_warps_brings_its_own_rows() -> None:
    state = made_of(wide(), pins=AT_ONCE)
    assert state.plan.value("wide.C_stage.groups", 0) == 2
    (channel,) = [
        s for s in walk(state.function.body) if isinstance(s, Channel) and s.carries == ("C_stage",)
    ]
    assert (channel.producer.arrivals, channel.producer.per_group) == (4, True)
    together = made_of(wide(), pins=AT_ONCE | {"wide.C_stage.groups": 1})
    scopes = {s.scope for s in walk(together.function.body) if isinstance(s, Sync)}
    assert scopes == {"role"}


def test_rows_are_cut_where_a_whole_column_of_them_does_not_fit() -> None:
    state = made_of(wide(3).replace("128", "256"))
    assert state.plan.value("wide.C_stage.chunk", ()) == (128, 64)
    issued = [s for s in walk(state.function.body) if isinstance(s, Issue)]
    assert [s.engine for s in issued].count("box_store") == 8


def test_a_stride_that_the_engine_does_not_take_leaves_the_threads_to_it() -> None:
    assert made_of(wide(4, "1001")).plan.find("wide.copy:C.engine") is None
    state = made_of(wide(4, "1000"))
    assert state.plan.value("wide.copy:C.engine", "") == "box_store"


def test_threads_write_what_they_hold_in_wide_pieces_themselves() -> None:
    text = BY_HAND.replace("copy x[:, :] -> C_s[:, :]\n", "").replace("copy C_s[", "copy x[")
    assert made_of(text).plan.value("by_hand.copy:C.engine", "") == "threads"


def test_a_target_without_such_an_engine_decides_nothing() -> None:
    assert made_of(wide(3), "sync").plan.find("wide.copy:C.engine") is None


@pytest.mark.parametrize("claim", ["hardware", "static"])
def test_a_shared_buffer_of_the_program_is_its_own_stage(claim: str) -> None:
    state = made_of(BY_HAND, pins={"by_hand.tiles.claim": claim})
    assert state.plan.value("by_hand.channel[C_s_ring]", ()) == ("box_store", 1, "C_s")
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved"
    a = np.arange(200 * 64, dtype=np.float16).reshape(200, 64)
    for schedule in ("late", "issue"):
        got = run(state.function, {"A": a, "C": np.zeros_like(a)}, schedule=schedule)  # type: ignore[arg-type]  # one of the two
        np.testing.assert_array_equal(got["C"], a)


def test_an_engine_forms_sums_in_a_loop() -> None:
    state = made_of(SUMS)
    assert state.plan.value("sums.atomic_tile:C.engine", "") == "box_store"
    assert state.plan.value("sums.C_stage.chunk", ()) == (64, 32)
    issued = [s for s in walk(state.function.body) if isinstance(s, Issue)]
    assert [type(s.body[0]).__name__ for s in issued].count("AtomicTile") == 2
    (verdict,) = verdicts(state.function)
    assert verdict.kind == "proved"
    rng = np.random.default_rng(5)
    a = rng.integers(-2, 3, (150, 64)).astype(np.float16)
    b = rng.integers(-2, 3, (64, 130)).astype(np.float16)
    whole = np.zeros((64, 192), np.float32)
    whole[:, :130] = b
    want = sum(a.astype(np.float32) @ whole[:, n : n + 64] for n in (0, 64, 128)) + 7
    for schedule in ("late", "issue"):
        args = {"A": a, "B": b, "C": np.full((150, 64), 7, np.float32)}
        got = run(state.function, args, schedule=schedule)  # type: ignore[arg-type]  # one of the two
        np.testing.assert_array_equal(got["C"], want)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("atomic_tile add", "atomic_tile max"),
        (
            "[k * 64 : +64, 0 : +64] clip\n      }",
            "[k * 64 : +64, 0 : +64] order = acq_rel, clip\n      }",
        ),
        ("      }\n    }\n  }", "      }\n      atomic add C[0, 0], 1.0\n    }\n  }"),
    ],
)
def test_sums_that_threads_form_themselves(what: str, instead: str) -> None:
    """Other kinds; an order, or an update after which others may look for the sum."""
    assert what in SUMS
    assert made_of(SUMS.replace(what, instead)).plan.find("sums.atomic_tile:C.engine") is None


@pytest.mark.parametrize("claim", ["hardware", "static"])
@pytest.mark.parametrize("shape", [(130, 264, 70), (128, 256, 64)])
def test_results_are_right_as_late_and_as_early_as_allowed(
    claim: str, shape: tuple[int, int, int]
) -> None:
    state = made_of(wide(), pins={"wide.tiles.claim": claim})
    m, n, k = shape
    rng = np.random.default_rng(3)
    a = rng.integers(-2, 3, (m, k)).astype(np.float16)
    b = rng.integers(-2, 3, (k, n)).astype(np.float16)
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    for schedule in ("late", "issue"):
        args = {"A": a, "B": b, "C": np.full((m, n), np.nan, np.float16)}
        got = run(state.function, args, schedule=schedule)  # type: ignore[arg-type]  # one of the two
        np.testing.assert_array_equal(got["C"], want)
