"""Running sums in parts: where they are, where they must not be, and that the sums are the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tile_ir.interp import run
from tile_ir.ops import Reduce
from tile_ir.rewrite import walk
from tile_ir.testing.compare import assert_close
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import check
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.expand.partial_sums import partial_sums
from tile_passes.lower.threads import lower_threads
from tile_passes.manager import run_pipeline
from tile_passes.plan.model import Plan

SHARED = "[thread (4:d1*2, 4:d0*1) value (2:d1*1)]"
ROWS = "[thread (4:-, 4:d0*1) value ()]"
TEXT = f"""tile.ir 1.0 tile
func @f(A: global f32[K, 4, 8], C: global f32[4], D: global f32[4]) dims (K) {{
  kernel @f threads = (16) {{
    tiles (bx) in (1) {{
      alloc x: fragment f32[4, 8] layout {SHARED}
      alloc t: fragment f32[4] layout {ROWS}
      alloc l: fragment f32[4] layout {ROWS}
      alloc a: fragment f32[4] layout {ROWS}
      fill a[:], 0.25
      fill l[:], 0.0
      for k in (0, K, 1) serial {{
        copy A[k, :, :] -> x[:, :]
        reduce sum x[:, :] -> t[:] dim = 1
        parallel (r) in (4) {{ store l[r] = l[r] * a[r] + t[r] }}
      }}
      copy l[:] -> C[:]
    }}
  }}
}}
"""
CX = PassContext(target=toy_spec("sync"))


def changed(text: str) -> tuple[Any, Any]:
    before = parse_function(text)
    after = partial_sums(before, CX, Plan())
    check(after)
    return before, after


def parts(fn: Any) -> list[tuple[int, ...]]:
    return [s.parts for s in walk(fn.body) if isinstance(s, Reduce)]


def arguments(k: int) -> dict[str, Any]:
    rng = np.random.default_rng(k)
    zero = np.zeros(4, np.float32)
    a = rng.standard_normal((k, 4, 8)).astype(np.float32)
    return {"A": a, "C": zero, "D": zero.copy()}


@pytest.mark.parametrize("k", [0, 1, 5])
@pytest.mark.parametrize(
    "update",
    [
        "l[r] * a[r] + t[r]",
        "t[r] - l[r] / (a[r] + 1.0)",
        "a[r] * (t[r] + l[r])",
        "-l[r] + t[r] * 2.0",
    ],
)
def test_the_parts_add_up(k: int, update: str) -> None:
    before, after = changed(TEXT.replace("l[r] * a[r] + t[r]", update))
    assert parts(after) == [(4, 2), ()]
    want, got = (run(fn, arguments(k))["C"] for fn in (before, after))
    assert_close(got, want)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_threads_add_their_parts_and_exchange_once(k: int) -> None:
    before, after = changed(TEXT)
    low = lower_threads.lower_threads(after, toy_spec("sync"))
    check(low)
    text = print_function(low)
    loop = text[text.index("for k in") :]
    assert "shuffle" not in loop[: re.search(r"^        \}", loop, re.MULTILINE).end()]  # type: ignore[union-attr]  # it ends
    got = run(low, arguments(k), target=toy_spec("sync"))["C"]
    assert_close(got, run(before, arguments(k))["C"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fill l[:], 0.0", "fill l[:], 1.0"),  # each part would start with it
        ("l[r] * a[r] + t[r]", "max(l[r], t[r])"),
        ("l[r] * a[r] + t[r]", "l[r] * t[r]"),
        ("l[r] * a[r] + t[r]", "l[r] + t[r] + 1.0"),
        ("l[r] * a[r] + t[r]", "l[3 - r] + t[r]"),
        ("reduce sum", "reduce max"),
        ("dims (K) {", "dims (K) numerics strict {"),
        ("t[r] }\n      }", "t[r] }\n        copy l[:] -> D[:]\n      }"),  # it is wanted each trip
        ("t[r] }\n      }", "t[r] }\n        copy t[:] -> D[:]\n      }"),
        ("copy l[:] -> C", "fill l[:], 0.0\n      copy l[:] -> C"),
        (
            "alloc l: fragment f32[4] layout [thread (4:-, 4:d0*1) value ()]",
            "alloc l: fragment f32[4] layout [thread (4:d0*1, 4:-) value ()]",
        ),
        (SHARED, "[thread (2:d1*1, 4:d0*1, 2:d1*2) value (2:d1*4)]"),  # two digits share a row
    ],
)
def test_what_needs_the_whole_sum_keeps_it(old: str, new: str) -> None:
    assert old in TEXT
    before, after = changed(TEXT.replace(old, new, 1))
    assert after is before


def test_a_second_run_changes_nothing() -> None:
    _, once = changed(TEXT)
    assert partial_sums(once, CX, Plan()) is once


@pytest.mark.parametrize("size", [64, 130])
def test_attention_from_plan_to_threads(programs: Any, size: int) -> None:
    fn = programs.tile("attention", stages=2)
    state = run_pipeline(device_pipeline(), State(function=fn), CX).state
    assert (4, 2) in parts(state.function)
    low = lower_threads.lower_threads(state.function, toy_spec("sync"))
    args = programs.arguments("attention", size)
    assert_close(run(low, args, target=toy_spec("sync"))["O"], run(fn, args)["O"], rtol=1e-3)
