"""Random programs keep their meaning through planning and expansion, on both kinds of target."""

from __future__ import annotations

import pytest

from tile_ir.interp import run
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.random import random_inputs, random_program
from tile_ir.testing.specs import toy_spec
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.default import device_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.plan.text import parse_plan, print_plan

CHUNK = 12


@pytest.mark.parametrize("arch", ["async", "sync", "plain"])
@pytest.mark.parametrize("chunk", range(5))
def test_random_programs(chunk: int, arch: str) -> None:
    cx = PassContext(target=toy_spec(arch))  # type: ignore[arg-type]  # one of the two
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        program = random_program(seed)
        args = random_inputs(program.function, seed)
        want = run(program.function, args)
        state = run_pipeline(device_pipeline(), State(function=program.function), cx).state
        assert verify(state.function) == ()
        assert parse_plan(print_plan(state.plan)) == state.plan
        for schedule in ("late", "issue"):
            got = run(state.function, args, schedule=schedule)  # type: ignore[arg-type]  # one of the two
            assert_all_close(got, want, program.tolerance)
