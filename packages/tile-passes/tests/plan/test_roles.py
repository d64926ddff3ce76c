"""Who copies and who computes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.ops import Kernel
from tile_ir.rewrite import map_stmts, with_body
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function
from tile_passes.base import PassContext, State
from tile_passes.registry import builtin


def of_threads(fn: Any, threads: int) -> Any:
    def changed(s: Any) -> Any:
        return dataclasses.replace(s, threads=(threads,)) if isinstance(s, Kernel) else None

    return with_body(fn, map_stmts(fn.body, changed))


@pytest.mark.parametrize(("threads", "role"), [(128, "producer"), (1024, "compute")])
def test_a_role_of_one_thread_needs_threads_that_a_block_has(
    programs: Any, threads: int, role: str
) -> None:
    fn = of_threads(programs.tile("gemm"), threads)
    state = builtin("plan-roles")(State(function=fn), PassContext(target=toy_spec("async")))
    assert state.plan.value("matmul.roles", ())[0] == role


def test_more_threads_than_a_block_has_are_refused(programs: Any) -> None:
    check, fn = builtin("warp-width"), programs.tile("gemm")
    for_all = PassContext(target=toy_spec("async"))
    most = State(function=of_threads(fn, 1024))
    assert check(most, for_all) is most
    with pytest.raises(TileError, match="has blocks of 1056 threads") as caught:
        check(State(function=of_threads(fn, 1056)), for_all)
    assert caught.value.code == "E0614"
    unknown = dataclasses.replace(for_all.target, max_threads=1, warp_width=1)
    assert check(State(function=of_threads(fn, 1056)), PassContext(target=unknown)) is not None


PAGES = """
func @f(A: global f16[256, 64], table: global i32[1, 4], C: global f32[64, 64]) {
  kernel @f threads = (128) {
    tiles (b) in (1) {
      alloc where_s: shared i32[1, 4]
      alloc A_s: shared f16[64, 64]
      alloc c: fragment f32[64, 64]
      copy table[0 : +1, 0 : +4] -> where_s[:, :]
      fill c[:, :], 0.0
      for k in (0, 4, 1) pipelined num_stages = 2 {
        let page = where_s[0, k]
        copy A[page * 64 : +64, 0 : +64] -> A_s[:, :]
        gemm A_s[:, :], A_s[:, :] -> c[:, :] transpose_b = true
      }
      copy c[:, :] -> C[0 : +64, 0 : +64]
    }
  }
}
"""


@pytest.mark.parametrize("arch", ["async", "sync"])
def test_what_is_read_from_shared_memory_is_not_known_ahead(programs: Any, arch: str) -> None:
    """A thread that ran ahead would read a table that other threads may not have brought yet."""
    made = programs.planned(parse_function(PAGES), arch)
    assert made.plan.value("f.copy:A_s.engine", "") == ""
    rng = np.random.default_rng(5)
    arguments = {
        "A": rng.integers(-3, 4, (256, 64)).astype(np.float16),
        "table": np.array([[2, 0, 3, 1]], np.int32),
        "C": np.full((64, 64), np.nan, np.float32),
    }
    want, got = (run(fn, arguments)["C"] for fn in (made.before, made.after))
    np.testing.assert_array_equal(got, want)
