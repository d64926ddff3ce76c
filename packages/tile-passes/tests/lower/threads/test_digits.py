"""Fragments that are read at digits of a loop's variables: registers where the layouts agree."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tile_ir.interp import run
from tile_ir.ops import Alloc, Sync
from tile_ir.rewrite import walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_ir.verify import check
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.manager import run_pipeline
from tile_passes.pipeline import Pipeline

WORDS = np.arange(8 * 16, dtype=np.int32).reshape(8, 16)
AGREES = "thread (4:d1*4, 8:d0*1) value (4:d1*1)"
OTHERS = "thread (16:d1*1, 2:d0*1) value (4:d0*2)"
RUN = "thread (4:d1*2, 8:d0*1) value (2:d1*1, 16:d1*8)"
TWICE = "thread (4:d1*4, 4:d0*1, 2:-) value (4:d1*1, 2:d0*4)"


def program(held: str, index: str = "j % 8 // 2 * 4 + j // 32", row: str = "i") -> str:
    """Each word is read by eight iterations of its row, all of which one thread runs if it holds
    words as AGREES says."""
    return f"""
func @f(A: global i32[8, 16], B: global i32[8, 128]) {{
  kernel @f threads = (32) {{
    tiles (b) in (1) {{
      alloc words: fragment i32[8, 16] layout [{held} -> (d0, d1)]
      alloc out: fragment i32[8, 128] layout [{RUN} -> (d0, d1)]
      copy A[0 : +8, 0 : +16] -> words[:, :]
      parallel (i, j) in (8, 128) layout = [{RUN} -> (d0, d1)] {{
        let word = words[{row}, {index}]
        store out[i, j] = word * 2 + j
      }}
      copy out[:, :] -> B[0 : +8, 0 : +128]
    }}
  }}
}}
"""


def compared(threads: Any, text: str) -> tuple[str, int]:
    """Checked against the oracle; where `words` are kept, and how often threads meet."""
    arguments = {"A": WORDS, "B": np.zeros((8, 128), np.int32)}
    low = threads.compare(parse_function(text), arguments)
    scopes = {s.buffer.name: s.buffer.scope for s in walk(low.body) if isinstance(s, Alloc)}
    return scopes["words"], sum(isinstance(s, Sync) for s in walk(low.body))


def test_a_thread_that_has_the_words_reads_its_registers(threads: Any) -> None:
    assert compared(threads, program(AGREES)) == ("local", 0)


@pytest.mark.parametrize("held", [OTHERS, TWICE])
def test_words_of_other_threads_go_through_shared_memory(threads: Any, held: str) -> None:
    scope, met = compared(threads, program(held))
    assert scope == "shared"
    assert met == 1


@pytest.mark.parametrize(
    ("index", "row"),
    [
        ("j // 8", "i"),  # one thread has parts of every word's iterations
        ("j % 16", "i"),
        ("j // 32 * 4 + j % 8 // 2", "i"),
        ("(j // 8 + 1) % 16", "i"),  # no sum of digits
        ("j % 8 // 2 * 4 + j // 32", "i // 2 * 2 + i % 2"),
        ("j % 8 // 2 * 4 + j // 32", "i % 4 * 2 + i // 4"),
    ],
)
def test_any_other_index_gives_the_same_values(threads: Any, index: str, row: str) -> None:
    compared(threads, program(AGREES, index, row))


WRITTEN = f"""
func @f(A: global i32[8, 16], B: global i32[8, 16]) {{
  kernel @f threads = (32) {{
    tiles (b) in (1) {{
      alloc words: fragment i32[8, 16] layout [{AGREES} -> (d0, d1)]
      copy A[0 : +8, 0 : +16] -> words[:, :]
      parallel (i, j) in (8, 16) layout = [{AGREES} -> (d0, d1)] {{
        store words[i, j % 8 + j // 8 * 8] = words[i, j % 8 + j // 8 * 8] + j
      }}
      copy words[:, :] -> B[0 : +8, 0 : +16]
    }}
  }}
}}
"""


def test_what_the_loop_writes_at_digits_goes_through_shared_memory(threads: Any) -> None:
    arguments = {"A": WORDS, "B": np.zeros_like(WORDS)}
    low = threads.compare(parse_function(WRITTEN), arguments, passes="bounds")
    scopes = {s.buffer.name: s.buffer.scope for s in walk(low.body) if isinstance(s, Alloc)}
    assert scopes["words"] == "shared"


RADICES = (2, 4, 2, 4)
"""What the columns of a loop count in; 64 together."""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A loop over 8 rows and 64 columns that reads words at some of the columns' digits, in any
    order, and of its own or another row."""
    order = draw(st.permutations(range(len(RADICES))))
    kept = order[: draw(st.integers(1, len(RADICES)))]
    terms, stride = [], 1
    for digit in kept:
        place = prod(RADICES[:digit])
        terms.append(f"j // {place} % {RADICES[digit]} * {stride}")
        stride *= RADICES[digit]
    row = draw(st.sampled_from(["i", "i % 4", "i // 2", "i // 4 + i % 4 * 2"]))
    runs = draw(st.permutations(range(len(RADICES))))
    threads, values, places = [], [], [prod(RADICES[:d]) for d in range(len(RADICES))]
    for n, digit in enumerate(runs):
        part = f"{RADICES[digit]}:d1*{places[digit]}"
        (threads if n < 2 else values).append(part)
    rows = f"{32 // prod(RADICES[d] for d in runs[:2])}:d0*1"
    left = 8 * prod(RADICES[d] for d in runs[:2]) // 32
    values += [f"{left}:d0*{8 // left}"] if left > 1 else []
    runs_as = f"thread ({', '.join([*threads, rows])}) value ({', '.join(values)}) -> (d0, d1)"
    return f"""
func @f(A: global i32[8, {stride}], B: global i32[8, 64]) {{
  kernel @f threads = (32) {{
    tiles (b) in (1) {{
      alloc words: fragment i32[8, {stride}]
      alloc out: fragment i32[8, 64] layout [{runs_as}]
      copy A[0 : +8, 0 : +{stride}] -> words[:, :]
      parallel (i, j) in (8, 64) {{
        store out[i, j] = words[{row}, {" + ".join(terms)}] * 64 + j
      }}
      copy out[:, :] -> B[0 : +8, 0 : +64]
    }}
  }}
}}
"""


@given(programs())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_digits_in_any_order_give_the_oracles_values(text: str) -> None:
    fn = parse_function(text)
    check(fn)
    columns = int(fn.params[0].buffer.shape[1].value)  # type: ignore[attr-defined]  # a constant
    arguments = {
        "A": np.arange(8 * columns, dtype=np.int32).reshape(8, columns),
        "B": np.zeros((8, 64), np.int32),
    }
    context = PassContext(target=toy_spec("sync"))
    steps = [s for s in device_pipeline().steps if s.run.phase != "legalize"]
    made = run_pipeline(Pipeline(tuple(steps)), State(function=fn), context).state.function
    low = lower_threads(made, toy_spec("sync"))
    want, got = run(fn, arguments), run(low, arguments, target=toy_spec("sync"))
    np.testing.assert_array_equal(got["B"], want["B"])
