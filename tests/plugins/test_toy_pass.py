"""A stranger's distribution adds a pass: found by entry point, placed where it asks, does its work,
conforms."""

import pytest

from tile_ir.plugin import discover, doctor_report, load
from tile_ir.testing.conformance import PassConformance
from tile_ir.testing.specs import toy_spec
from tile_ir.text import parse_function, print_function
from tile_passes.base import Pass, PassContext, State
from tile_passes.manager import run_pipeline
from tile_passes.pipeline import Pipeline
from tile_passes.registry import known_passes, with_third_party

PROGRAM = """tile.ir 1.0 tile
func @scale(x: global f32[8], y: global f32[8]) {
  kernel @scale {
    tiles (bx) in (8) {
      store y[bx] = x[bx] * 1.0 + 1.0 * x[bx] * 2.0
    }
  }
}
"""


@pytest.fixture(scope="module", autouse=True)
def _installed(distribution):
    distribution("tile-toy-pass", "tile-toy-pass")


def nothing(name, phase="legalize"):
    """Return a pass that changes nothing."""
    return Pass(name=name, phase=phase, rewrite=lambda function, cx, plan: function)


def test_it_is_found_with_its_distribution():
    (entry,) = [e for e in discover("tile.passes") if e.name == "fold-times-one"]
    assert (entry.distribution, entry.version) == ("tile-toy-pass", "0.1.0")
    assert entry.value == "tile_toy_pass:MANIFEST"


def test_the_doctor_finds_it_healthy():
    (status,) = [s for s in doctor_report().plugins if s.entry.name == "fold-times-one"]
    assert status.error is None
    assert status.manifest.after == ("simplify",)


def test_it_stands_where_it_asks_to():
    names = ("bounds", "simplify", "last-of-the-phase")
    pipeline = Pipeline().extended(*map(nothing, names), nothing("plan-tiles", "plan"))
    assert with_third_party(pipeline, "toy").names == (
        "bounds",
        "simplify",
        "fold-times-one",
        "last-of-the-phase",
        "plan-tiles",
    )


def test_it_can_be_named_in_a_pipeline_text():
    assert known_passes()["fold-times-one"].phase == "legalize"


def test_it_changes_the_program_and_then_leaves_it_alone():
    pipeline = with_third_party(Pipeline().extended(nothing("simplify")), "toy")
    cx = PassContext(target=toy_spec("sync"))
    before = parse_function(PROGRAM)
    after = run_pipeline(pipeline, State(function=before), cx).state.function
    assert "store y[bx] = x[bx] + x[bx] * 2.0" in print_function(after)
    assert run_pipeline(pipeline, State(function=after), cx).state.function is after


def test_its_manifest_is_all_that_listing_loads():
    manifest = load("tile.passes", "fold-times-one")
    assert manifest.factories() == {"factory": "tile_toy_pass:make"}


class TestConformance(PassConformance):
    plugin = "fold-times-one"
    samples = ("strided", "mixed_types", "rms_norm")
    seeds = 10
