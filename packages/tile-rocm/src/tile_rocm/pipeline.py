"""The passes that bring a tile program to one thread's program, in order."""

from __future__ import annotations

from tile_passes.default import default_pipeline
from tile_passes.lower.threads import lower_threads
from tile_passes.pipeline import Pipeline, Step

__all__ = ["pipeline"]


def pipeline(default: Pipeline | None = None) -> Pipeline:
    """The default pipeline's legalization, then the generic lowering to threads."""
    base = default or default_pipeline()
    return Pipeline((*base.steps, Step(lower_threads.PASS)))
