"""Fragments that are read at digits of a loop's variables: registers where the layouts agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.ops import Alloc, Sync
from tile_ir.rewrite import walk
from tile_ir.text import parse_function

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
