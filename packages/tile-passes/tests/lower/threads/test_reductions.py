"""Reductions of long lines in registers: several accumulators, and the values of the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.expr import loads
from tile_ir.interp import run
from tile_ir.ops import Alloc, For, Reduce
from tile_ir.ops.compute import REDUCE_KINDS
from tile_ir.rewrite import stmt_exprs, walk
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function

TEXT = """tile.ir 1.0 tile
func @f(A: global {t}[16, 128], B: global {t}[16]) {{
  kernel @f threads = (64) {{
    tiles (bx) in (1) {{
      alloc x: fragment {t}[16, 128] layout [thread (4:d1*2, 16:d0*1) value (2:d1*1, 16:d1*8)]
      alloc y: fragment {t}[16]
      copy A[:, :] -> x[:, :]
      reduce {kind} x[:, :] -> y[:] dim = 1{more}
      copy y[:] -> B[:]
    }}
  }}
}}
"""
INTEGER = ("and", "or", "xor")


def accumulators(fn: Any) -> list[int]:
    found = [s.buffer for s in walk(fn.body) if isinstance(s, Alloc)]
    return [int(a.shape[0].value) for a in found if a.name.startswith("acc")]  # type: ignore[attr-defined]  # of registers


@pytest.mark.parametrize("dtype", ["f32", "i32", "u32"])
@pytest.mark.parametrize("kind", REDUCE_KINDS)
def test_a_long_line_has_two_accumulators(threads: Any, kind: str, dtype: str) -> None:
    if dtype == "f32" and kind in INTEGER:
        return
    fn = parse_function(TEXT.format(t=dtype, kind=kind, more=""))
    rng = np.random.default_rng(1)
    kept = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}[dtype]
    low = 0 if dtype == "u32" else -9
    x = rng.integers(low, 9, (16, 128)).astype(kept)
    low_fn = threads.compare(fn, {"A": x, "B": np.zeros(16, kept)})
    assert accumulators(low_fn) == [1, 2]


@pytest.mark.parametrize("nan", ["propagate", "ignore"])
@pytest.mark.parametrize("kind", ["max", "min", "absmax", "sum"])
def test_lines_with_what_is_no_number(threads: Any, kind: str, nan: str) -> None:
    fn = parse_function(TEXT.format(t="f32", kind=kind, more=f', nan = "{nan}"'))
    x = np.random.default_rng(2).standard_normal((16, 128)).astype(np.float32)
    x[0, 0] = x[1, 17] = x[2, 127] = np.nan
    if kind != "absmax":  # of no number at all: 0 here, what a maximum starts with in the oracle
        x[3, :] = np.nan
    x[4, 3], x[5, :] = np.inf, -np.inf
    threads.compare(fn, {"A": x, "B": np.zeros(16, np.float32)})


def test_strict_sums_keep_their_order(threads: Any) -> None:
    text = TEXT.format(t="f32", kind="sum", more="").replace("16]) {", "16]) numerics strict {", 1)
    low = threads.lowered(text)
    assert accumulators(low) == [1]
    x = np.random.default_rng(3).standard_normal((16, 128)).astype(np.float32)
    args = {"A": x, "B": np.zeros(16, np.float32)}
    got = run(low, args, target=toy_spec("sync"))["B"]
    np.testing.assert_allclose(got, x.astype(np.float64).sum(axis=1), rtol=1e-4, atol=1e-4)
    assert not any(isinstance(s, Reduce) for s in walk(low.body))


ROWS = """tile.ir 1.0 tile
func @f(A: global {t}[2, {n}], B: global {t}[2]) {{
  kernel @f threads = ({threads}) {{
    tiles (bx) in (1) {{
      alloc x: fragment {t}[2, {n}]
      alloc y: fragment {t}[2]
      copy A[:, :] -> x[:, :]
      reduce {kind} x[:, :] -> y[:] dim = 1
      copy y[:] -> B[:]
    }}
  }}
}}
"""


@pytest.mark.parametrize(("threads_of_block", "serial"), [(128, [4]), (512, []), (1024, [])])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_lines_over_many_warps(threads: Any, kind: str, threads_of_block: int, serial: Any) -> None:
    """A few warps are read one after the other; of many each lane reads one, and lanes exchange."""
    n = 4 * threads_of_block
    fn = parse_function(ROWS.format(t="i32", kind=kind, n=n, threads=threads_of_block))
    x = np.random.default_rng(4).integers(-99, 99, (2, n)).astype(np.int32)
    low = threads.compare(fn, {"A": x, "B": np.zeros(2, np.int32)})
    reads = [s for s in walk(low.body) if isinstance(s, For) and _reads_partials(s)]
    assert [int(s.stop.value) for s in reads if s.kind == "serial"] == serial  # type: ignore[attr-defined]  # a constant


def _reads_partials(loop: For) -> bool:
    body = [e for s in loop.body for e in stmt_exprs(s)]
    return any(load.buffer.startswith("partial") for e in body for load in loads(e))
