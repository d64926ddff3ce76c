"""The target against the oracle, by the conformance kit that every target runs."""

from tile_ir.testing.conformance import TargetConformance


class TestCpu(TargetConformance):
    target = "cpu"
    compile = "tile_cpu.driver:compile_function"


class TestNarrowVectors(TargetConformance):
    """The oldest machines served: 16-byte vectors, no fused multiply-add, conversions by hand."""

    target = "cpu"
    arch = "x86-64-v2"
    compile = "tile_cpu.driver:compile_function"
    run_seeds = 3
