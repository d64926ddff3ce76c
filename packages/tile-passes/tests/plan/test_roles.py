"""Who copies and who computes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tile_ir.diag import TileError
from tile_ir.ops import Kernel
from tile_ir.rewrite import map_stmts, with_body
from tile_ir.testing.specs import toy_spec
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
