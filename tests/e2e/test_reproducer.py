"""A pipeline's text names every pass of a target, so what failed can be run again by itself."""

from __future__ import annotations

import pytest

from tile_frontend.target_select import select
from tile_ir.core import Module
from tile_ir.plugin import resolve
from tile_ir.testing.corpus import corpus
from tile_ir.text import print_module
from tile_passes.base import PassContext, State
from tile_passes.cli import optimize
from tile_passes.manager import run_pipeline


@pytest.mark.parametrize("name", ["gemm_bias_relu", "softmax"])
def test_the_pipeline_of_a_target_runs_from_its_text(name):
    fn = corpus()[name].function
    target = select("cpu")
    pipeline = resolve(target.manifest.pipeline)(None)
    made = run_pipeline(pipeline, State(function=fn), PassContext(target=target.spec))
    again = optimize(print_module(Module(functions=(fn,))), str(pipeline), "cpu")
    assert again == print_module(Module(functions=(made.state.function,)))
