"""The default pipeline: what every target starts from and edits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tile_passes.pipeline import Pipeline, Step
from tile_passes.registry import builtin

LEGALIZE = (
    "manual-means",  # first: what the target cannot do is refused before anything else looks at it
    "warp-width",
    "stage-overlaps",  # before bounds, which looks at the reads that it adds
    "bounds",  # before the rest: all later passes may take an access without `clip` to be in bounds
    "mask-init",  # before init-gemm, which then finds the product's fill gone
    "init-gemm",
    "reciprocal",
    "simplify",  # after the normal forms: their conditions often repeat what bounds decided
    "dead-buffers",
)
"""The legalize phase, in order."""

LEGALIZE_DEVICE = (
    "skip-rescale",
    "init-gemm",  # again: nothing may stand before the product in a first trip now
    "skip-masks",  # after simplify: a mask that the facts decide is gone
    "plan-split",  # before the rest: how many tiles and iterations there are
    "split-loops",
    "plan-copies",  # these two last: what is decided later speaks of the statements there are then
    "unroll-copies",
)
"""What a target with thread blocks adds to the legalize phase."""

PLAN = (
    "plan-roles",  # engines and atoms first: what is asynchronous decides everything else
    "plan-tiles",
    "plan-pipeline",
    "plan-layout",
    "plan-homes",
    "plan-stores",  # worth it or not: the layout of a result says how scattered it lies
    "plan-crossing",
    "plan-memory",  # after the depths of channels are known
    "plan-registers",  # what layouts put into each thread decides how registers are split
    "pins",  # last: by now every key that a pin can name has been decided
)
"""The plan phase of a target with thread blocks, in order."""

EXPAND = (
    "keep-operands",  # these two first: names are those of the program as the user wrote it
    "apply-layouts",
    "partial-sums",  # after layouts, which say what each thread has; before loops are taken apart
    "expand-pipeline",
    "simplify",  # trip counts that are proved to suffice leave no branch around a pipeline
    "insert-settles",
    "simplify",
    "warp-specialize",
    "expand-tiles",
    "form-clusters",
    "interleave-stores",
    "cross-tiles",
    "draw-tiles",  # after what moves parts of a tile into another one
    "simplify",
    "insert-conversions",
    "allocate-shared",
    "insert-syncs",  # after offsets, which say what shares bytes
    "check-protocol",
    "meet-blocks",  # after the check, which looks at channels alone
)
"""The expand phase of a target with thread blocks, in order."""


@cache
def default_pipeline() -> Pipeline:
    """Legalization alone; a target adds how it plans, expands and lowers."""
    return Pipeline(tuple(Step(builtin(name)) for name in LEGALIZE))


@cache
def device_pipeline() -> Pipeline:
    """Legalization, planning and expansion for a target with thread blocks; it adds its lowering.

    `simplify` is a pass of the legalize phase, used again here where expansion leaves conditions
    that the facts decide.
    """
    again = replace(builtin("simplify"), phase="expand")
    expand = (again if name == "simplify" else builtin(name) for name in EXPAND)
    before = (Step(builtin(name)) for name in (*LEGALIZE_DEVICE, *PLAN))
    steps = (*default_pipeline().steps, *before, *map(Step, expand))
    return Pipeline(steps)


def threads_pipeline(default: Pipeline | None = None) -> Pipeline:
    """The same and the lowering to one thread's program: all that a target needs whose source is
    written for each thread. `default` replaces the passes before the lowering."""
    from tile_passes.lower.threads import lower_threads  # only who lowers to threads loads it

    base = default or device_pipeline()
    return Pipeline((*base.steps, Step(lower_threads.PASS)))
