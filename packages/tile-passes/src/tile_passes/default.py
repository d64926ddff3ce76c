"""The default pipeline: what every target starts from and edits."""

from __future__ import annotations

from functools import cache

from tile_passes.pipeline import Pipeline, Step
from tile_passes.registry import builtin

LEGALIZE = (
    "bounds",  # first: all later passes may take an access without `clip` to be in bounds
    "mask-init",  # before init-gemm, which then finds the product's fill gone
    "init-gemm",
    "reciprocal",
    "simplify",  # after the normal forms: their conditions often repeat what bounds decided
    "dead-buffers",
)
"""The legalize phase, in order."""


@cache
def default_pipeline() -> Pipeline:
    """Legalization alone; a target adds how it plans, expands and lowers."""
    return Pipeline(tuple(Step(builtin(name)) for name in LEGALIZE))
