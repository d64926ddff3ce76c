"""Plan how blocks claim tiles, and in which order tiles are laid out for the caches.

`hardware`: one block per tile. `static`: as many blocks as run at once, each taking every n-th
tile; a producer role then fetches for the next tile while this one is finished. The second changes
how many blocks there are, so it is offered only where no statement sees that. Tiles that take
unequally long are taken longest first, and dealt in turning rounds where that loads all blocks
about evenly; else they are left to the hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, free_vars
from tile_ir.ops import Atomic
from tile_ir.ops.control import CLAIMS
from tile_ir.rewrite import declared, substitute, walk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass
from tile_passes.plan.balance import dealt as in_rounds
from tile_passes.plan.balance import first_come, in_order, work_of
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide
from tile_passes.plan.plan_roles import ROLES_APART, ROLES_ONE
from tile_passes.plan.reuse import COLUMN, NONE, PANELS, ROW, traffic, traffic_of, wave_bytes
from tile_passes.plan.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Function
    from tile_ir.expr import Expr, Var
    from tile_ir.ops import For, Kernel, Tiles
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Survey

HARDWARE, STATIC = "hardware", "static"
_PAIR = 2
"""Blocks of a cluster: larger ones do not fill the device."""

_RASTERS = (NONE, ROW, COLUMN)

CYCLIC, SNAKE = "cyclic", "snake"

_SHARED_BY = 2
"""Blocks that must run on the same operands at once, or memory would bring them for each anew."""


def plan_tiles(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `tiles.claim`, `raster`, `panel`, `cluster`, `descending`, `slowest` and `deal` of
    each kernel.

    What the kernel itself asks for is taken.
    """
    buffers = declared(fn)
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        found = survey(tiles.body, buffers, cx.target)
        facts = Facts.of_dims(fn.dims)
        for var, extent in zip(tiles.vars, tiles.extents, strict=True):
            facts = facts.bind(var, b.const(0, var.dtype), extent)
        uneven = tuple(v for v in tiles.vars if any(_mentions(loop, v) for _, loop in found.loops))
        later = tuple(v for v in uneven if _grows(found, v, facts))
        names = tuple(v.name for v in later)
        ways = _evened(cx, tiles, found, uneven, later)
        plan = _claim(plan, cx, kernel, tiles, uneven, ways)
        dealt = bool(ways) and plan.value(f"{kernel.name}.tiles.claim", HARDWARE) == STATIC
        plan = _raster(plan, cx, kernel, tiles, found, dealt=dealt)
        plan = _cluster(plan, cx, kernel, tiles, found, uneven)
        reason = "these take longer" if later else "all take equally long"
        key = f"{kernel.name}.tiles.descending"
        allowed = ((), *((v.name,) for v in tiles.vars), names)
        plan = decide(plan, cx, key, names, reason=reason, allowed=allowed)
        plan = _deal(plan, cx, kernel.name, tiles, ways)
    return plan


def _mentions(loop: For, var: Var) -> bool:
    return var in free_vars(loop.start) | free_vars(loop.stop)


def _grows(found: Survey, var: Var, facts: Facts) -> bool:
    """Whether no pipelined loop has fewer trips in a tile that lies further along an axis."""
    after = substitute({var: b.add(var, 1)})
    loops = [loop for _, loop in found.loops if _mentions(loop, var)]
    return bool(loops) and all(
        not _varies(loop.start, var) and facts.prove(b.ge(after(loop.stop), loop.stop)) is True
        for loop in loops
    )


def _varies(e: Expr, var: Var) -> bool:
    return var in free_vars(e)


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to let blocks take uneven tiles, by the time of the block that is done last."""

    claim: str
    slowest: tuple[str, ...]
    cost: float

    @property
    def order(self) -> str:
        """What the log says of it."""
        if self.claim == HARDWARE:
            return "one block per tile"
        return (
            f"in turning rounds, {'slowest' if self.slowest else 'fastest'} along the uneven axis"
        )


def _evened(
    cx: PassContext,
    tiles: Tiles,
    found: Survey,
    uneven: tuple[Var, ...],
    later: tuple[Var, ...],
) -> tuple[_Way, ...]:
    """The ways to take tiles that grow along one axis, best first; none where that is not known."""
    if len(uneven) != 1 or later != uneven:
        return ()
    (var,) = uneven
    work = work_of(tiles, var, tuple(loop for _, loop in found.loops))
    blocks = cx.target.rates.cores
    if work is None or work.tiles <= blocks:
        return ()
    fast, slow = (in_order(work, slowest=s) for s in (False, True))
    ways = [
        _Way(HARDWARE, (), first_come(fast, blocks)),
        _Way(STATIC, (), in_rounds(fast, blocks, turning=True)),
    ]
    if work.others * _SHARED_BY <= blocks:  # tiles that run at once share what they read
        ways.append(_Way(STATIC, (var.name,), in_rounds(slow, blocks, turning=True)))
    return tuple(sorted(ways, key=lambda w: w.cost))


def _claim(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    tiles: Tiles,
    uneven: tuple[Var, ...],
    ways: tuple[_Way, ...],
) -> Plan:
    key = f"{kernel.name}.tiles.claim"
    if tiles.claim != HARDWARE:
        asked, reason = (tiles.claim,), "asked for by the kernel"
        return decide(plan, cx, key, tiles.claim, reason=reason, allowed=asked, by="user")
    allowed = _claims(kernel)
    value, reason = STATIC, "the next tile is fetched while this one is finished"
    if plan.value(f"{kernel.name}.roles", ROLES_ONE) != ROLES_APART or STATIC not in allowed:
        value, reason = HARDWARE, "one block per tile"
    elif ways:
        value, reason = ways[0].claim, ways[0].order
    elif uneven:
        value, reason = HARDWARE, "tiles take unequally long"
    elif _count(tiles) <= cx.target.rates.cores:
        value, reason = HARDWARE, "all tiles run at once"
    costs = tuple(Candidate(w.claim, w.cost, f"iterations of a block, {w.order}") for w in ways)
    return decide(plan, cx, key, value, reason=reason, allowed=allowed, candidates=costs)


def _deal(plan: Plan, cx: PassContext, kernel: str, tiles: Tiles, ways: tuple[_Way, ...]) -> Plan:
    """Decide the order in which blocks deal uneven tiles among them."""
    base = f"{kernel}.tiles"
    claim = plan.value(f"{base}.claim", HARDWARE)
    best = next((w for w in ways if w.claim == claim), None)
    slowest = best.slowest if best is not None and claim == STATIC else ()
    plain = plan.value(f"{base}.raster", NONE) == NONE
    allowed = ((), *((v.name,) for v in tiles.vars)) if plain else ((),)
    value = slowest if slowest in allowed else ()
    reason = best.order if best is not None else "in rows of tiles"
    plan = decide(plan, cx, f"{base}.slowest", value, reason=reason, allowed=allowed)
    uneven = best is not None and claim == STATIC
    reason = "evens out what blocks have to do" if uneven else "all take equally long"
    deal = SNAKE if uneven else CYCLIC
    return decide(plan, cx, f"{base}.deal", deal, reason=reason, allowed=(CYCLIC, SNAKE))


def _count(tiles: Tiles) -> int:
    """The number of tiles; a very large one when it is not constant."""
    sizes = [int(e.value) if isinstance(e, Const) else 1 << 30 for e in tiles.extents]
    return prod(sizes)


def _claims(kernel: Kernel) -> tuple[str, ...]:
    """The claims under which nothing in the kernel can tell how many blocks there are."""
    ordered = any(isinstance(s, Atomic) and s.result is not None for s in walk(kernel.body))
    return (HARDWARE,) if ordered else tuple(c for c in CLAIMS if c in (HARDWARE, STATIC))


def _raster(
    plan: Plan, cx: PassContext, kernel: Kernel, tiles: Tiles, found: Survey, *, dealt: bool
) -> Plan:
    base = f"{kernel.name}.tiles"
    value, by, reason = (tiles.raster, tiles.panel), "user", "asked for by the kernel"
    costs: tuple[Candidate, ...] = ()
    if tiles.raster == NONE and dealt:
        value, by, reason = (NONE, 0), "model", "tiles are dealt by what they take"
    elif tiles.raster == NONE:
        costs = _rasters(cx, tiles, found)
        best = min(costs, key=_bytes_of)
        value, by = best.value, "model"  # type: ignore[assignment]  # pairs
        reason = best.reason if value[0] == NONE else f"{_bytes_of(best):.0f} {best.reason}"
    orders = [
        min((c for c in costs if _order(c) == r), key=_bytes_of, default=None) for r in _RASTERS
    ]
    rasters = tuple(Candidate(_order(c), c.cost, c.reason) for c in orders if c is not None)
    widths = tuple(Candidate(_panel(c), c.cost, c.reason) for c in costs if _order(c) == value[0])
    plan = decide(
        plan,
        cx,
        f"{base}.raster",
        value[0],
        reason=reason,
        allowed=_RASTERS,
        candidates=rasters,
        by=by,
    )
    return decide(plan, cx, f"{base}.panel", value[1], reason=reason, candidates=widths, by=by)


def _order(c: Candidate) -> str:
    return str(c.value[0])  # type: ignore[index]  # pairs


def _panel(c: Candidate) -> int:
    return int(c.value[1])  # type: ignore[index,arg-type]  # pairs


def _bytes_of(c: Candidate) -> float:
    return c.cost or 0.0


def _rasters(cx: PassContext, tiles: Tiles, found: Survey) -> tuple[Candidate, ...]:
    """The orders of tiles with the bytes that a wave of blocks brings; in rows first, which stays
    unless another one brings clearly less.
    """
    wave = max(1, cx.target.rates.cores)
    brought = traffic(found, tiles) if len(tiles.vars) > 1 else ()

    def cost(raster: str, panel: int) -> float:
        return float(wave_bytes(brought, tiles, raster, panel, wave)) if brought else 0.0

    plain = Candidate((NONE, 0), cost(NONE, 0) * 0.95, "rows of tiles")
    why = "bytes of one iteration of all blocks"
    kinds = (ROW, COLUMN) if brought else ()
    panels = [Candidate((k, p), cost(k, p), why) for k in kinds for p in PANELS]
    return (plain, *panels)


def _cluster(
    plan: Plan,
    cx: PassContext,
    kernel: Kernel,
    tiles: Tiles,
    found: Survey,
    uneven: tuple[Var, ...],
) -> Plan:
    """Whether pairs of neighbouring blocks bring what both need together.

    It takes load off the cache and with that power, but no time where there is power to spare: a
    pin asks for it.
    """
    names = {v.name for v in uneven}  # the blocks of a pair must run the same loops
    options = [p for p in _pairs(plan, cx, kernel.name, tiles, found) if p[0][0] not in names]
    costs = tuple(Candidate(v, float(n), "bytes of a tile that a pair shares") for v, n in options)
    allowed = ((), *(v for v, _ in options))
    reason = "only where asked for" if options else "no engine brings anything to two blocks"
    key = f"{kernel.name}.tiles.cluster"
    return decide(plan, cx, key, (), reason=reason, allowed=allowed, candidates=costs)


def _pairs(
    plan: Plan, cx: PassContext, kernel: str, tiles: Tiles, found: Survey
) -> Iterator[tuple[tuple[str, int, str], int]]:
    """(axis, blocks, operand) of each way to pair tiles that are neighbours in the planned order,
    with the bytes of the operand: one that does not move along the axis.
    """
    spec, raster = cx.target, plan.value(f"{kernel}.tiles.raster", NONE)
    panel = int(plan.value(f"{kernel}.tiles.panel", 0))  # type: ignore[arg-type]  # a number
    if spec.cluster.blocks < _PAIR or not spec.cluster.multicast:
        return
    axes = {ROW: (1,), COLUMN: (0,)}.get(str(raster), tuple(range(min(2, len(tiles.vars)))))
    for axis in axes:
        extent = tiles.extents[axis]
        if panel % _PAIR or not isinstance(extent, Const) or extent.value % _PAIR:
            continue
        for fill, brought in traffic_of(found, tiles):
            engine = spec.copy.get(str(plan.value(f"{kernel}.{fill.name}.engine", "")))
            if engine is not None and engine.multicast and not brought.along[axis]:
                yield (tiles.vars[axis].name, _PAIR, fill.buffer.name), brought.bytes


PASS = Pass(
    name="plan-tiles",
    phase="plan",
    plan=plan_tiles,
    requires=("roles planned",),
    ensures=("tiles planned",),
    doc=__doc__,
)
