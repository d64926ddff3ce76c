"""Plan whether a tile's last product runs beside the next tile's first one.

That fills a gap of the matrix engine in every tile, and makes the step from tile to tile longer for
each group of warps by itself: worth it where tiles are short and the matrix engine is what they
wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.rewrite import declared
from tile_passes.base import Pass
from tile_passes.plan.balance import work_of
from tile_passes.plan.keys import kernels, loop_key, tiles_of
from tile_passes.plan.pins import decide
from tile_passes.plan.plan_tiles import HARDWARE, IN_A_LOOP
from tile_passes.plan.survey import survey

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.ops import For, Tiles
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

SHORT = 40
"""Iterations of a tile from which on the gap was not seen to matter."""

LEAST_GAIN = 0.08
"""Part of an iteration that overlap within the loop has to save: below, vector work hides the gap
already. By the model attention with heads of 128 saves 10% on a Hopper GPU, and gained by crossing;
with heads of 64 it saves 5 to 7%, and lost."""


def plan_crossing(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `tiles.cross` of each kernel."""
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        found = survey(tiles.body, buffers, cx.target)
        name = kernel.name
        keys = {path: f"{name}.{loop_key(found.names[path])}.stage" for path, _ in found.loops}
        lagging = [
            (loop, keys[path])
            for path, loop in found.loops
            if len(path) == 1 and plan.value(keys[path], ())
        ]
        can = plan.value(f"{name}.tiles.claim", HARDWARE) in IN_A_LOOP and len(lagging) == 1
        trips = _trips(tiles, lagging[0][0]) if can else None
        gain = _gain(plan, lagging[0][1]) if can else 0.0
        value = trips is not None and trips <= SHORT and gain >= LEAST_GAIN
        reason = "no iterations overlap in a loop over tiles"
        if can:
            count = "an unknown number of" if trips is None else f"{trips:.0f}"
            reason = f"{count} iterations, of which overlap saves {gain:.0%}"
        allowed = (False, True) if can else (False,)
        plan = decide(plan, cx, f"{name}.tiles.cross", value, reason=reason, allowed=allowed)
    return plan


def _trips(tiles: Tiles, loop: For) -> float | None:
    """The mean iterations of a tile's loop, None where they are not known."""
    for var, extent in zip(tiles.vars, tiles.extents, strict=True):
        if not isinstance(extent, Const):
            continue
        work = work_of(tiles, var, (loop,))
        if work is not None:
            return sum(work.trips) / len(work.trips)
    return None


def _gain(plan: Plan, key: str) -> float:
    """The part of an iteration's cycles that the stages decided for a loop save."""
    found = plan.find(key)
    if found is None:
        return 0.0
    costs = {c.value: c.cost for c in found.candidates if c.cost}
    best, apart = costs.get(found.value), costs.get(())
    return 1.0 - best / apart if best and apart else 0.0


PASS = Pass(
    name="plan-crossing",
    phase="plan",
    plan=plan_crossing,
    requires=("planned", "tiles planned"),
    doc=__doc__,
)
