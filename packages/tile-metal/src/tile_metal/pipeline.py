"""The passes that bring a tile program to one thread's program, in order."""

from __future__ import annotations

from tile_passes.default import device_pipeline
from tile_passes.lower.threads import lower_threads
from tile_passes.pipeline import Pipeline, Step

__all__ = ["pipeline"]


def pipeline(default: Pipeline | None = None) -> Pipeline:
    """Legalization, planning and expansion of the shared passes, then the lowering to threads."""
    base = default or device_pipeline()
    return Pipeline((*base.steps, Step(lower_threads.PASS)))
