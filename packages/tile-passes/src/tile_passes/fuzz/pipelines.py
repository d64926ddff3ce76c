"""Pipelines beside the default one that mean the same: some passes left out that only make a
program better, `simplify` run once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_passes.pipeline import Pipeline, Step, parse_pipeline
from tile_passes.registry import builtin, known_passes

if TYPE_CHECKING:
    from random import Random

__all__ = ["OPTIONAL", "named", "text_of", "thinned"]

OPTIONAL = frozenset(
    {
        "mask-init",
        "init-gemm",
        "reciprocal",
        "simplify",
        "dead-buffers",
        "skip-rescale",
        "skip-masks",
        "plan-split",
        "plan-copies",
        "unroll-copies",
        "fuse-loops",
        "contract-rows",
        "split-guards",
    }
)
"""Passes without which a program still compiles and means the same."""

_LEFT_OUT = 0.3
_AGAIN = 0.15


def thinned(pipeline: Pipeline, rng: Random) -> Pipeline:
    """The pipeline without some of its optional passes, and with `simplify` where it was not."""
    simplify = builtin("simplify")
    steps: list[Step] = []
    for step in pipeline.steps:
        if step.run.name not in OPTIONAL or rng.random() >= _LEFT_OUT:
            steps.append(step)
        if step.run.phase == "legalize" and step.run.name != "manual-means":
            steps += [Step(simplify)] * (rng.random() < _AGAIN)
    return Pipeline(tuple(steps))


def text_of(pipeline: Pipeline) -> str:
    """The steps in their order, without phases, as `named` reads them."""
    return ", ".join(map(str, pipeline.steps))


def named(text: str) -> Pipeline:
    """The pipeline of a text; raises TileError E0601 or E0602 as `parse_pipeline` does."""
    return parse_pipeline(text, known_passes())
