"""2,000 random programs: text round-trips, and no pass changes what a program means.

Every pass of the legalize phase runs on every program; wherever it changed something, the oracle
must give the same results for the program before and after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tile_ir.interp import run
from tile_ir.testing.compare import assert_all_close
from tile_ir.testing.conformance import PassConformance
from tile_ir.testing.random import Program, random_inputs, random_program
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.default import LEGALIZE, LEGALIZE_DEVICE, device_pipeline
from tile_passes.pipeline import Step
from tile_passes.plan.model import Plan
from tile_passes.registry import builtin

if TYPE_CHECKING:
    from tile_ir.core import Function

CX = PassContext(target=toy_spec("sync"))
STEPS = tuple(s for s in device_pipeline().steps if s.run.phase == "legalize")
CHUNK = 50
CHUNKS = 40


def check_text(fn: Function) -> None:
    text = print_function(fn)
    again = parse_function(text)
    assert again == fn
    assert print_function(again) == text


def check_passes(program: Program, seed: int) -> int:
    """Run the phase pass by pass; returns how many changed the program."""
    args = random_inputs(program.function, seed)
    want = run(program.function, args)
    state = State(function=program.function)
    changes = 0
    for step in STEPS:
        after = step.run(state, CX)
        if after.function is not state.function:
            changes += 1
            found = verify(after.function)
            assert not found, "\n".join(d.render() for d in found)
            assert step.run(after, CX).function is after.function, f"{step} is not idempotent"
            got = run(after.function, args, strict=True)
            assert_all_close(got, want, program.tolerance)
        state = after
    return changes


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_round_trip_and_meaning(chunk: int) -> None:
    changes = 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        program = random_program(seed)
        check_text(program.function)
        assert verify(program.function) == ()
        changes += check_passes(program, seed)
    assert changes >= CHUNK  # nearly every program has an access to guard


class LegalizePass(PassConformance):
    """A pass alone over the corpus."""

    __test__ = False

    def __init_subclass__(cls) -> None:
        cls.__test__ = True

    name = ""
    seeds = 0
    strict = None

    def apply(self, function: Function) -> Function:
        rewrite = builtin(self.name).rewrite
        assert rewrite is not None
        return rewrite(function, CX, Plan())


class TestManualMeans(LegalizePass):
    name = "manual-means"


class TestWarpWidth(LegalizePass):
    name = "warp-width"


class TestStageOverlaps(LegalizePass):
    name = "stage-overlaps"


class TestBounds(LegalizePass):
    name = "bounds"


class TestMaskInit(LegalizePass):
    name = "mask-init"


class TestInitGemm(LegalizePass):
    name = "init-gemm"


class TestReciprocal(LegalizePass):
    name = "reciprocal"


class TestSimplify(LegalizePass):
    name = "simplify"


class TestSkipRescale(LegalizePass):
    name = "skip-rescale"


class TestSkipMasks(LegalizePass):
    name = "skip-masks"


class TestDeadBuffers(LegalizePass):
    name = "dead-buffers"


class TestSplitLoops(LegalizePass):
    """Without a plan that asks for parts it leaves every program alone."""

    name = "split-loops"


class TestUnrollCopies(LegalizePass):
    """Without a plan that asks for copies it leaves every program alone."""

    name = "unroll-copies"


def test_every_pass_of_the_phase_has_its_class() -> None:
    tested = {cls.name for cls in LegalizePass.__subclasses__()}
    steps = (*LEGALIZE, *LEGALIZE_DEVICE)
    assert tested == {name for name in steps if builtin(name).rewrite is not None}


def test_a_step_prints_its_options() -> None:
    assert str(Step(builtin("bounds"), (("deep", True),))) == "bounds{deep=true}"
