"""Every pass of this target keeps programs valid and keeps their meaning."""

from tile_cpu import spec
from tile_cpu.driver import compile_function
from tile_cpu.lower.drop_layouts import drop_layouts
from tile_cpu.lower.expand_strips import expand_strips
from tile_cpu.lower.lower_mma import lower_mma
from tile_cpu.lower.place_scratch import place_scratch
from tile_cpu.plan.plan_atoms import plan_atoms
from tile_cpu.plan.plan_strips import plan_strips
from tile_ir.ops import Gemm
from tile_ir.rewrite import walk
from tile_ir.testing.conformance import PassConformance
from tile_ir.testing.corpus import corpus
from tile_passes.base import PassContext, State
from tile_passes.default import default_pipeline
from tile_passes.manager import run_pipeline
from tile_passes.plan.model import Plan

CONTEXT = PassContext(target=spec.load("znver4"))
LIGHT = tuple(
    name
    for name, sample in corpus().items()
    if not any(isinstance(s, Gemm) for s in walk(sample.function.body))
)


def legal(function):
    """What planning is given: every access that may leave its buffer is guarded."""
    outcome = run_pipeline(default_pipeline(), State(function=function), CONTEXT)
    return outcome.state.function


def with_atoms(function):
    function = legal(function)
    return lower_mma(function, CONTEXT, plan_atoms(function, CONTEXT, Plan()))


class TestDropLayouts(PassConformance):
    seeds = 5

    def apply(self, function):
        return drop_layouts(function)


class TestLowerMma(PassConformance):
    seeds = 60

    def apply(self, function):
        return with_atoms(function)


class TestExpandStrips(PassConformance):
    seeds = 60
    idempotent = False  # another axis may now be worth a strip

    def apply(self, function):
        function = legal(function)
        return expand_strips(function, CONTEXT, plan_strips(function, CONTEXT, Plan()))


class TestStripsOfPackedOperands(PassConformance):
    seeds = 60
    idempotent = False  # a strip of strips is one more strip

    def apply(self, function):
        made = with_atoms(function)
        return expand_strips(made, CONTEXT, plan_strips(made, CONTEXT, Plan()))


class TestPlaceScratch(PassConformance):
    seeds = 10

    def apply(self, function):
        return place_scratch(function)


class TestWholePipeline(PassConformance):
    samples = LIGHT
    seeds = 25
    idempotent = False

    def apply(self, function):
        return compile_function(function, CONTEXT.target).lowered
