"""A function through a whole target, or through one pass by its name."""

import pytest

from tile_ir.diag import TileError
from tile_ir.plugin import TargetManifest
from tile_ir.target import TargetSpec
from tile_ir.text import parse_function, print_function
from tile_passes import whole
from tile_passes.pipeline import Pipeline, Step
from tile_passes.plan.model import Plan
from tile_passes.registry import builtin

READ = """
func @f(A: global f32[n], B: global f32[n]) dims (n) results (B) {
  kernel @f {
    tiles (b) in (n) { store B[b] = A[b + 1] clip }
  }
}
"""
SPEC = TargetSpec(name="mine", arch="one", family="gpu")


@pytest.fixture
def mine(monkeypatch):
    """A target of one pass that emits what it is given."""
    manifest = TargetManifest(
        name="mine",
        specs=dict,
        pipeline=lambda default: Pipeline((Step(builtin("bounds")),)),
        emit=lambda function, spec, plan: (function, spec, plan),
        toolchain=dict,
        runtime=dict,
    )
    monkeypatch.setattr(whole, "load", lambda group, name: manifest)


@pytest.mark.usefixtures("mine")
def test_the_pipeline_runs_and_its_result_is_emitted():
    function, spec, plan = whole.compile_function(parse_function(READ), SPEC)
    assert "select(b + 1 < n, A[b + 1], 0.0)" in print_function(function)
    assert (spec, plan) == (SPEC, Plan())


@pytest.mark.usefixtures("mine")
def test_a_program_that_is_not_valid_is_refused_before():
    broken = READ.replace("A[b + 1]", "0")
    with pytest.raises(TileError) as caught:
        whole.compile_function(parse_function(broken), SPEC)
    assert caught.value.code == "E0426"


def test_a_pass_by_its_name():
    function = parse_function(READ)
    once = whole.apply_pass("bounds", function)
    assert "select(b + 1 < n, A[b + 1], 0.0)" in print_function(once)
    assert whole.apply_pass("bounds", once) is once


def test_a_pass_that_is_not_there():
    with pytest.raises(TileError) as caught:
        whole.apply_pass("bound", parse_function(READ))
    assert caught.value.code == "E0602"
