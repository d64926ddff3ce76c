"""Exchanges in warps by registers, arrays that each thread has for itself, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_passes.base import PassContext
from tile_passes.legalize.warp_width import warp_width
from tile_passes.plan.model import Plan

EXCHANGE = """tile.ir 1.0 tile
func @f(A: global {t}[64], L: global i32[64], B: global {t}[64], C: global {t}[64]) {{
  kernel @f threads = (64) {{
    tiles (bx) in (1) {{
      alloc x: fragment {t}[64] layout [{layout}]
      alloc by: fragment i32[64] layout [{layout}]
      alloc y: fragment {t}[64] layout [{layout}]
      copy A[:] -> x[:]
      copy L[:] -> by[:]
      shuffle x[:] by by[:] -> y[:]
      copy y[:] -> B[:]
      warp_reduce {kind} x[:] -> y[:]
      copy y[:] -> C[:]
    }}
  }}
}}
"""
OWN = "thread (64:d0*1) value ()"
REVERSED = "thread (2:d0*32, 32:d0*1) value ()"
"""Neighbouring threads hold elements that lie apart: they are brought to their threads first."""


@pytest.mark.parametrize("layout", [OWN, REVERSED])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("sum", "f32"), ("max", "f16"), ("min", "i32"), ("or", "u64"), ("and", "i8"), ("xor", "u16")],
)
def test_exchanges_agree_with_the_oracle(threads: Any, kind: str, dtype: str, layout: str) -> None:
    fn = parse_function(EXCHANGE.format(t=dtype, kind=kind, layout=layout))
    rng = np.random.default_rng(3)
    kept = np.dtype({"f": "f", "i": "i", "u": "u"}[dtype[0]] + str(int(dtype[1:]) // 8))
    a = rng.integers(0, 99, 64).astype(kept)
    lanes = rng.integers(-40, 90, 64).astype(np.int32)
    zeros = np.zeros(64, kept)
    made = threads.compare(fn, {"A": a, "L": lanes, "B": zeros, "C": zeros})
    text = print_function(made)
    assert "shuffle_idx(" in text
    assert ("shared" in text) is (layout is REVERSED)


@pytest.mark.parametrize(("arch", "word"), [("sync", "ballot("), ("plain", "shuffle_xor(")])
def test_a_ballot_is_a_vote_or_exchanges(threads: Any, arch: str, word: str) -> None:
    fn = parse_function("""tile.ir 1.0 tile
func @f(A: global bool[64], B: global u64[64]) {
  kernel @f threads = (64) {
    tiles (bx) in (1) {
      alloc x: fragment bool[64] layout [thread (64:d0*1) value ()]
      alloc y: fragment u64[64] layout [thread (64:d0*1) value ()]
      copy A[:] -> x[:]
      warp_reduce ballot x[:] -> y[:]
      copy y[:] -> B[:]
    }
  }
}
""")
    a = np.random.default_rng(5).random(64) < 0.4
    args = {"A": a, "B": np.zeros(64, np.uint64)}
    made = threads.lowered(fn, arch)
    assert word in print_function(made)
    spec = toy_spec(arch)  # type: ignore[arg-type]  # one of the two
    want, got = run(fn, args, target=spec), run(made, args, target=spec)
    np.testing.assert_array_equal(got["B"], want["B"])


def test_an_array_of_each_thread_is_one_of_its_registers(threads: Any) -> None:
    fn = parse_function("""tile.ir 1.0 tile
func @f(A: global i32[64, 4], B: global i32[64]) {
  kernel @f threads = (64) {
    tiles (bx) in (1) {
      alloc x: fragment i32[64, 4] layout [thread (64:d0*1) value (4:d1*1) -> (d0, d1)]
      parallel (t) in (64) layout = [thread (64:d0*1) value ()] {
        for k in (0, 4, 1) serial {
          store x[t, k] = A[t, k] * (k + 1)
        }
        store B[t] = x[t, A[t, 0] % 4] + x[t, 3]
      }
    }
  }
}
""")
    a = np.random.default_rng(4).integers(0, 50, (64, 4)).astype(np.int32)
    made = threads.compare(fn, {"A": a, "B": np.zeros(64, np.int32)})
    assert "shared" not in print_function(made)


@pytest.mark.parametrize("target", ["sync", "plain"])
def test_the_width_becomes_a_number(target: str) -> None:
    fn = parse_function("""tile.ir 1.0 tile
func @f(B: global i32[64]) {
  kernel @f threads = (64) {
    tiles (bx) in (1) {
      parallel (t) in (64) {
        store B[t] = t // warp_width()
      }
    }
  }
}
""")
    spec = toy_spec(target)
    made = warp_width(fn, PassContext(target=spec), Plan())
    assert f"t // {spec.warp_width}" in print_function(made)
    assert warp_width(made, PassContext(target=spec), Plan()) is made


def test_what_a_target_cannot_exchange_is_refused() -> None:
    import dataclasses

    text = EXCHANGE.format(t="f32", kind="sum", layout=OWN)
    fn = parse_function(text)
    lacking = dataclasses.replace(toy_spec("sync"), features=frozenset())
    half = parse_function(text.replace("threads = (64)", "threads = (96)"))
    for program, spec, why in (
        (fn, lacking, "which toy"),
        (half, toy_spec("plain"), "has 96 threads"),
    ):
        with pytest.raises(TileError) as caught:
            warp_width(program, PassContext(target=spec), Plan())
        assert caught.value.code == "E0613"
        assert why in caught.value.message
