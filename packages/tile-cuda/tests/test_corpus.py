"""Every program of the corpus becomes machine code, with the generic lowering to threads."""

import pytest

from tile_cuda import spec
from tile_cuda.driver import emit
from tile_cuda.pipeline import pipeline
from tile_cuda.toolchain import compile_source
from tile_ir.testing.corpus import corpus
from tile_passes.base import PassContext, State

EVERYWHERE = ("gemm_nn_f16", "softmax", "histogram", "two_kernels")
"""One of each kind, for the architectures at both ends."""


def lowered(name, arch):
    state = State(function=corpus()[name].function)
    for step in pipeline().steps:
        state = step.run(state, PassContext(target=spec.load(arch), pins={}))
    return state.function


@pytest.mark.parametrize("name", sorted(corpus()))
def test_a_program_compiles(compiler, name):
    made = emit(lowered(name, "sm_90a"), spec.load("sm_90a"))
    _, usage = compile_source(made.source, "sm_90a", made.strict, compiler)
    assert set(usage) == set(made.kernels)
    assert all(row.spill_stores == 0 for row in usage.values())


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_120"])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_other_architectures(compiler, name, arch):
    made = emit(lowered(name, arch), spec.load(arch))
    assert set(compile_source(made.source, arch, made.strict, compiler)[1]) == set(made.kernels)


def test_products_use_the_matrix_unit(compiler):
    assert (
        "tile_mma_m16n8k16_f16(&"
        in emit(lowered("gemm_nn_f16", "sm_90a"), spec.load("sm_90a")).source
    )
    assert (
        "tile_mma_m16n8k8_f16(&" in emit(lowered("gemm_nn_f16", "sm_75"), spec.load("sm_75")).source
    )
