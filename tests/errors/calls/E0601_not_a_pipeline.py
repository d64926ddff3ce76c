"""Not a pipeline."""

from tile_passes.pipeline import parse_pipeline
from tile_passes.registry import known_passes

parse_pipeline("bounds simplify", known_passes())
