"""The passes that bring a tile program to one thread's program, in order."""

from __future__ import annotations

from tile_passes.default import device_pipeline
from tile_passes.lower import dependent_launch
from tile_passes.lower.threads import lower_threads
from tile_passes.pipeline import Pipeline, Step

__all__ = ["pipeline"]


def pipeline(default: Pipeline | None = None) -> Pipeline:
    """Legalization, planning and expansion of the shared passes, the lowering to threads, and what
    waits for the kernel in front."""
    base = default or device_pipeline()
    return Pipeline((*base.steps, Step(lower_threads.PASS), Step(dependent_launch.PASS)))
