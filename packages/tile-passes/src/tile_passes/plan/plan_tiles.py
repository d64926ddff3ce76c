"""Plan how blocks claim tiles, and in which order tiles are laid out for the caches.

`hardware`: one block per tile. `static`: as many blocks as run at once, each taking every n-th
tile; a producer role then fetches for the next tile while this one is finished. The second changes
how many blocks there are, so it is offered only where no statement sees that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import Atomic
from tile_ir.ops.control import CLAIMS
from tile_ir.rewrite import walk
from tile_passes.base import Pass
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.pins import decide

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.ops import Kernel, Tiles
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

HARDWARE, STATIC = "hardware", "static"
_RASTERS = ("none", "row", "column")


def plan_tiles(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `tiles.claim`, `tiles.raster` and `tiles.panel` of each kernel.

    What the kernel itself asks for is taken; a kernel that asks for nothing keeps one block per
    tile.
    """
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is not None:
            plan = _kernel(plan, cx, kernel, tiles)
    return plan


def _kernel(plan: Plan, cx: PassContext, kernel: Kernel, tiles: Tiles) -> Plan:
    base = f"{kernel.name}.tiles"
    given = tiles.claim != HARDWARE
    allowed = (tiles.claim,) if given else _claims(kernel)
    reason = "asked for by the kernel" if given else "one block per tile"
    by = "user" if given else "model"
    plan = decide(plan, cx, f"{base}.claim", tiles.claim, reason=reason, allowed=allowed, by=by)
    by = "user" if tiles.raster != "none" else "model"
    reason = "asked for by the kernel" if tiles.raster != "none" else "row-major"
    plan = decide(plan, cx, f"{base}.raster", tiles.raster, reason=reason, allowed=_RASTERS, by=by)
    return decide(plan, cx, f"{base}.panel", tiles.panel, reason=reason, by=by)


def _claims(kernel: Kernel) -> tuple[str, ...]:
    """The claims under which nothing in the kernel can tell how many blocks there are."""
    ordered = any(isinstance(s, Atomic) and s.result is not None for s in walk(kernel.body))
    return (HARDWARE,) if ordered else tuple(c for c in CLAIMS if c in (HARDWARE, STATIC))


PASS = Pass(
    name="plan-tiles", phase="plan", plan=plan_tiles, ensures=("tiles planned",), doc=__doc__
)
