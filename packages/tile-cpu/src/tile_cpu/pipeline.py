"""The passes that bring a tile program to C, in order."""

from __future__ import annotations

from tile_cpu.lower import (
    drop_layouts,
    expand_strips,
    forward_stores,
    lower_mma,
    lower_tiles,
    merge_trips,
    place_scratch,
    single_lanes,
    vectorize,
)
from tile_cpu.plan import plan_atoms, plan_strips, plan_trips
from tile_passes.default import default_pipeline
from tile_passes.lower import contract_rows, fuse_loops, split_guards, version_tiles
from tile_passes.pipeline import Pipeline, Step
from tile_passes.registry import builtin

__all__ = ["pipeline"]


def pipeline(default: Pipeline | None = None) -> Pipeline:
    """The default pipeline's legalization, then this target's own planning and lowering."""
    base = default or default_pipeline()
    own = (
        plan_atoms.PASS,
        plan_trips.PASS,
        plan_strips.PASS,
        builtin("pins"),
        drop_layouts.PASS,
        merge_trips.PASS,
        lower_mma.PASS,
        expand_strips.PASS,  # after the operands have their layouts: slots hold packed blocks
        version_tiles.PASS,
        lower_tiles.PASS,
        single_lanes.PASS,
        split_guards.PASS,
        fuse_loops.PASS,
        contract_rows.PASS,
        forward_stores.PASS,
        vectorize.PASS,
        place_scratch.PASS,  # last: no pass after it adds a buffer
    )
    return Pipeline((*base.steps, *map(Step, own)))
