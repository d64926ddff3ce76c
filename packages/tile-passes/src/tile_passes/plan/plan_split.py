"""Plan whether the loop over a product's inner axis is shared by two blocks of a cluster.

A product of few tiles leaves cores idle, and each of the others waits for memory alone. Two blocks
that take half of the loop each keep twice as many bytes on their way; what they have is added up
through their shared memory, once. Where all blocks run at once nobody takes a second tile
meanwhile, so that nothing has to be handed back.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_ir.ops import Copy
from tile_ir.rewrite import declared
from tile_passes.analysis.manual import is_manual
from tile_passes.base import Pass
from tile_passes.plan.cost import copy_bytes, shared_bytes
from tile_passes.plan.keys import Names as Keys
from tile_passes.plan.keys import kernels, loop_key, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide
from tile_passes.plan.split_loops import PARTS, splittable, sums_of, trips_of
from tile_passes.plan.unroll_copies import pipelined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.ops import For, Kernel, Tiles
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

EXCHANGE = 2.0
"""Iterations that sending the sums, waiting for them and meeting at the ends take: an estimate. The
first and the last go through the latency of the other block's memory, and blocks start together."""

_BARRIERS = 1024
"""Bytes for barriers, and for what alignment takes."""

_MOST_AXES = 2
"""Axes of the tile loop: the parts become one more, and a grid has three."""


def plan_split(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `split` of each pipelined loop whose sums blocks may share: 1, or 2 parts.

    Raises:
        TileError: E0702 for a pin that the loop or the target does not allow.
    """
    if not can_meet(cx.target):
        return plan
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None or is_manual(tiles.body):
            continue
        keys = Keys.of(tiles.body)
        for path, loop in pipelined(tiles.body):
            if len(path) > 1 or not splittable(fn, kernel, tiles, loop, buffers):
                continue
            key = f"{kernel.name}.{loop_key(keys[path])}.split"
            why = _obstacle(kernel, tiles, loop, cx.target) or _too_large(loop, buffers, cx.target)
            if why:
                plan = decide(plan, cx, key, 1, reason=why, allowed=(1,))
                continue
            costs = _costs(tiles, loop, cx.target)
            best = min(costs, key=lambda c: (c.cost or 0.0, c.value))
            value, why = best.value, best.reason
            if PARTS * _count(tiles) > cx.target.rates.cores:
                value, why = 1, _busy(tiles, cx.target)
            plan = decide(plan, cx, key, value, reason=why, allowed=(1, PARTS), candidates=costs)
    return plan


def can_meet(spec: TargetSpec) -> bool:
    """Whether blocks of a cluster can count what comes from each other."""
    counted = any(n.kind == "phase" for n in spec.barriers.values())
    return spec.cluster.blocks >= PARTS and counted and spec.rates.cores > 0


def _obstacle(kernel: Kernel, tiles: Tiles, loop: For, spec: TargetSpec) -> str:
    """Why two blocks cannot share a loop, empty where they can."""
    if prod(kernel.cluster) > 1:
        return "the kernel says itself which blocks are a cluster"
    if len(tiles.vars) > _MOST_AXES:
        return "the grid has no axis left for the parts"
    if tiles.claim != "hardware":
        return "blocks take one tile after the other"
    if not all(isinstance(e, Const) for e in tiles.extents):
        return "how many tiles there are is not known"
    if _count(tiles) > spec.rates.cores:
        return f"{_count(tiles)} tiles keep all of {spec.rates.cores} cores at work"
    trips = trips_of(loop)
    if not trips or trips % PARTS:
        return f"its iterations are not known to be a multiple of {PARTS}"
    return ""


def _busy(tiles: Tiles, spec: TargetSpec) -> str:
    """Why two blocks do not share a loop unasked although they could: they may gain by what one
    does while the other waits, where the tiles of one core have room beside each other."""
    return f"{_count(tiles)} tiles keep more than half of {spec.rates.cores} cores at work"


def _too_large(loop: For, buffers: Mapping[str, Buffer], spec: TargetSpec) -> str:
    """Why what comes from the other block has no room, empty where it has."""
    stages = max(loop.num_stages, 1)
    slots = {r.dst.buffer: stages for r in loop.body if isinstance(r, Copy)}
    sums = sum(copy_bytes(buffers[name]) for name in sums_of(loop, buffers))
    room = spec.capacity("shared")
    if shared_bytes(buffers, slots) + sums > room - _BARRIERS:
        return f"{sums} bytes of sums do not fit beside {loop.num_stages} stages"
    return ""


def _costs(tiles: Tiles, loop: For, spec: TargetSpec) -> tuple[Candidate, ...]:
    trips, count = trips_of(loop), _count(tiles)
    idle = spec.rates.cores - count
    return (
        Candidate(1, float(trips), f"{trips} iterations, {idle} of {spec.rates.cores} cores idle"),
        Candidate(
            PARTS,
            trips / PARTS + EXCHANGE,
            f"{trips // PARTS} iterations of each of {PARTS} blocks, and their sums exchanged",
        ),
    )


def _count(tiles: Tiles) -> int:
    return prod(int(e.value) for e in tiles.extents if isinstance(e, Const))


PASS = Pass(name="plan-split", phase="legalize", plan=plan_split, doc=__doc__)
