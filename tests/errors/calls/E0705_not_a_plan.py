"""Not a plan."""

from tile_passes.plan.text import parse_plan

parse_plan("K.tiles.cluster = by model")
