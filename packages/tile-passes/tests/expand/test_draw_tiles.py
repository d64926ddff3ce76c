"""Tiles that blocks draw: results stay, the protocol holds, and the number is drawn in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.ops import Acquire, Alloc, Claim, For, Kernel, Role, Tiles
from tile_ir.rewrite import walk
from tile_ir.testing.compare import assert_close
from tile_ir.testing.specs import toy_spec
from tile_passes.lower.threads.lower_threads import lower_threads
from tile_passes.protocol.check_protocol import verdicts

KERNELS = {"gemm": "matmul", "attention": "attn", "no product": "rows", "nested": "nested"}


def drawn(programs: Any, name: str, **pins: Any) -> Any:
    kernel = KERNELS[name]
    named = {f"{kernel}.{k.replace('__', '.')}": v for k, v in pins.items()}
    return programs.planned(
        programs.tile(name), "async", {f"{kernel}.tiles.claim": "dynamic"} | named
    )


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("workers", [1, 3])
def test_results_stay_however_tiles_are_divided(programs: Any, name: str, workers: int) -> None:
    made = drawn(programs, name)
    for k in (1, 70):
        args = programs.arguments(name, k, 130 if name == "gemm" else 64)
        want = run(made.before, args)
        for schedule in ("late", "issue"):
            for seed in (None, 1, 2):
                got = run(made.after, args, schedule=schedule, seed=seed, workers=workers)  # type: ignore[arg-type]  # one of the two
                for buffer, value in want.items():
                    assert_close(got[buffer], value)


@pytest.mark.parametrize("name", ["gemm", "no product"])
def test_the_channel_of_numbers_is_proved(programs: Any, name: str) -> None:
    made = drawn(programs, name)
    (verdict,) = verdicts(made.after)
    assert verdict.kind == "proved", verdict.reason
    assert "channel next_ring: ring(2) carries (next) from role producer arrivals 1" in made.text


def test_the_counter_is_kept_beside_the_kernel(programs: Any) -> None:
    fn = drawn(programs, "gemm").after
    counter, kernel = fn.body
    assert isinstance(counter, Alloc)
    assert (counter.kept, counter.buffer.scope) == (True, "global")
    assert isinstance(kernel, Kernel)
    loops = [s for s in walk(kernel.body) if isinstance(s, Tiles)]
    assert [s.claim for s in loops] == ["dynamic"] * 2
    assert len({s.next for s in loops}) == 2


def producer(made: Any) -> Any:
    (tiles,) = (
        t
        for s in walk(made.after.body)
        if isinstance(s, Role) and s.elect
        for t in walk(s.body)
        if isinstance(t, Tiles)
    )
    return tiles.body


def test_a_number_is_drawn_before_the_last_filling(programs: Any) -> None:
    kinds = [type(s) for s in producer(drawn(programs, "attention"))]
    assert kinds[kinds.index(For) : kinds.index(For) + 3] == [For, Claim, Acquire]


def test_a_number_is_drawn_before_the_loop_that_fills_last(programs: Any) -> None:
    kinds = [type(s) for s in producer(drawn(programs, "gemm"))]
    assert kinds[kinds.index(Claim) + 1] is For


def test_one_thread_s_program(programs: Any) -> None:
    made = drawn(programs, "gemm")
    args = programs.arguments("gemm", 70, 130)
    want = run(made.before, args)["C"]
    target = toy_spec("async")
    low = lower_threads(made.after, target)
    for workers in (1, 4):
        for seed in (None, 5):
            got = run(low, args, target=target, workers=workers, seed=seed)["C"]
            np.testing.assert_array_equal(got, want)


def test_a_machine_without_a_role_that_runs_ahead(programs: Any) -> None:
    fn = programs.tile("gemm")
    with pytest.raises(TileError) as caught:
        programs.planned(fn, "sync", {"matmul.tiles.claim": "dynamic"})
    assert caught.value.code == "E0702"
    assert caught.value.notes == ("no thread runs ahead that could draw for the others",)


def test_what_a_kernel_asks_for_in_vain(programs: Any) -> None:
    text = programs.source("gemm").replace("ceildiv(M, 64)) {", "ceildiv(M, 64)) claim = dynamic {")
    made = programs.planned(programs.parsed(text), "sync")
    decision = made.plan.find("matmul.tiles.claim")
    assert decision.value == "hardware"
    assert "no thread runs ahead" in decision.reason
    programs.compare(made, "gemm", 40)
