"""The passes that bring a tile program to one thread's program, in order."""

from __future__ import annotations

from tile_passes.default import threads_pipeline as pipeline

__all__ = ["pipeline"]
