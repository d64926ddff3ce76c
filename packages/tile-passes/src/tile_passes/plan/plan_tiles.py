"""Plan how blocks claim tiles, and in which order tiles are laid out for the caches.

`hardware`: one block per tile. `static`: as many blocks as run at once, each taking every n-th
tile; a producer role then fetches for the next tile while this one is finished. `dynamic`: the same
blocks, but the producer draws the next tile from a counter. The last two change how many blocks
there are, so they are offered only where no statement sees that. Tiles that take unequally long are
taken longest first, and drawn, or dealt in turning rounds where that loads all blocks about evenly.
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
from tile_passes.plan.balance import DRAW, START, first_come, in_order, work_of
from tile_passes.plan.balance import dealt as in_rounds
from tile_passes.plan.clusters import pairs
from tile_passes.plan.keys import kernels, tiles_of
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide
from tile_passes.plan.plan_roles import ROLES_APART, ROLES_ONE
from tile_passes.plan.reuse import COLUMN, NONE, PANELS, ROW, traffic, wave_bytes
from tile_passes.plan.survey import survey

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.expr import Expr, Var
    from tile_ir.ops import For, Kernel, Tiles
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Survey

HARDWARE, STATIC, DYNAMIC = "hardware", "static", "dynamic"
IN_A_LOOP = (STATIC, DYNAMIC)
"""Claims under which a block takes one tile after the other."""

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
        dealt = bool(ways) and plan.value(f"{kernel.name}.tiles.claim", HARDWARE) in IN_A_LOOP
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
        how = "in turning rounds" if self.claim == STATIC else "drawn from a counter"
        return f"{how}, {'slowest' if self.slowest else 'fastest'} along the uneven axis"


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
    drawn = START + DRAW
    ways = [
        _Way(HARDWARE, (), first_come(fast, blocks)),
        _Way(STATIC, (), in_rounds(fast, blocks, turning=True)),
        _Way(DYNAMIC, (), first_come(fast, blocks, drawn)),
    ]
    if work.others * _SHARED_BY <= blocks:  # tiles that run at once share what they read
        last = (var.name,)
        ways.append(_Way(STATIC, last, in_rounds(slow, blocks, turning=True)))
        ways.append(_Way(DYNAMIC, last, first_come(slow, blocks, drawn)))
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
    if prod(kernel.cluster) > 1:
        reason = "a cluster is as many tiles as the kernel says"
        return decide(plan, cx, key, HARDWARE, reason=reason, allowed=(HARDWARE,), by="user")
    refused = _refused(plan, cx, kernel)
    allowed = tuple(c for c in CLAIMS if c not in refused)
    if tiles.claim in refused and tiles.claim == DYNAMIC:
        reason = f"blocks of their own, which the device starts one by one: {refused[DYNAMIC]}"
        return decide(plan, cx, key, HARDWARE, reason=reason, allowed=(HARDWARE,), by="user")
    if tiles.claim != HARDWARE:
        asked, reason = (tiles.claim,), "asked for by the kernel"
        return decide(plan, cx, key, tiles.claim, reason=reason, allowed=asked, by="user")
    why = dict(refused)
    value, reason = STATIC, "the next tile is fetched while this one is finished"
    why[HARDWARE], why[DYNAMIC] = "nothing is fetched ahead", "all tiles take equally long"
    if plan.value(f"{kernel.name}.roles", ROLES_ONE) != ROLES_APART or STATIC in refused:
        value, reason = HARDWARE, "one block per tile"
        why[STATIC] = refused.get(STATIC, "no role fetches ahead")
    elif ways:
        best = next(w for w in ways if w.claim in allowed)
        value, reason = best.claim, best.order
    elif uneven:
        value, reason = HARDWARE, "tiles take unequally long, and nobody knows how long"
        why[STATIC] = why[DYNAMIC] = "whether blocks would have a second tile is not known"
    elif _count(tiles) <= cx.target.rates.cores:
        value, reason = HARDWARE, "all tiles run at once"
        why[STATIC] = why[DYNAMIC] = "no block would have a second tile"
    why |= refused
    costs = tuple(Candidate(w.claim, w.cost, f"iterations of a block, {w.order}") for w in ways)
    known = {c.value for c in costs} | {value}
    costs += tuple(Candidate(c, None, why[c]) for c in CLAIMS if c in why and c not in known)
    return decide(plan, cx, key, value, reason=reason, allowed=allowed, candidates=costs)


def _refused(plan: Plan, cx: PassContext, kernel: Kernel) -> dict[str, str]:
    """The claims that a kernel cannot have, each with the reason."""
    if any(isinstance(s, Atomic) and s.result is not None for s in walk(kernel.body)):
        why = "what its atomics return could tell how many blocks there are"
        return {STATIC: why, DYNAMIC: why}
    if plan.value(f"{kernel.name}.roles", ROLES_ONE) != ROLES_APART:
        return {DYNAMIC: "no thread runs ahead that could draw for the others"}
    if not any(n.kind == "phase" for n in cx.target.barriers.values()):
        return {DYNAMIC: "no barriers that count bring the number to the others"}
    return {}


def _deal(plan: Plan, cx: PassContext, kernel: str, tiles: Tiles, ways: tuple[_Way, ...]) -> Plan:
    """Decide the order in which blocks deal uneven tiles among them."""
    base = f"{kernel}.tiles"
    claim = plan.value(f"{base}.claim", HARDWARE)
    best = next((w for w in ways if w.claim == claim), None)
    slowest = best.slowest if best is not None and claim in IN_A_LOOP else ()
    plain = plan.value(f"{base}.raster", NONE) == NONE
    allowed = ((), *((v.name,) for v in tiles.vars)) if plain else ((),)
    value = slowest if slowest in allowed else ()
    reason = best.order if best is not None else "in rows of tiles"
    plan = decide(plan, cx, f"{base}.slowest", value, reason=reason, allowed=allowed)
    uneven = best is not None and claim == STATIC
    reason = "evens out what blocks have to do" if uneven else "all take equally long"
    if claim == DYNAMIC:
        reason = "tiles are drawn in their order"
    deal = SNAKE if uneven else CYCLIC
    dealt = (CYCLIC,) if claim == DYNAMIC else (CYCLIC, SNAKE)
    return decide(plan, cx, f"{base}.deal", deal, reason=reason, allowed=dealt)


def _count(tiles: Tiles) -> int:
    """The number of tiles; a very large one when it is not constant."""
    sizes = [int(e.value) if isinstance(e, Const) else 1 << 30 for e in tiles.extents]
    return prod(sizes)


def _raster(
    plan: Plan, cx: PassContext, kernel: Kernel, tiles: Tiles, found: Survey, *, dealt: bool
) -> Plan:
    base = f"{kernel.name}.tiles"
    value, by, reason = (tiles.raster, tiles.panel), "user", "asked for by the kernel"
    costs: tuple[Candidate, ...] = ()
    if prod(kernel.cluster) > 1:
        value, reason = (NONE, 0), "a cluster is a box of neighbouring tiles"
    elif tiles.raster == NONE and dealt:
        value, by, reason = (NONE, 0), "model", "tiles are dealt by what they take"
    elif tiles.raster == NONE:
        costs = _rasters(cx, tiles, found)
        shared = _in_common(found, tiles)
        best = min(costs, key=lambda c: (_bytes_of(c), -shared[_order(c)]))
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


def _in_common(found: Survey, tiles: Tiles) -> dict[str, int]:
    """The largest operand that a tile has in common with the one after it, in bytes, by order."""
    brought = traffic(found, tiles)

    def most(axis: int) -> int:
        return max((t.bytes for t in brought if not t.along[axis]), default=0)

    return {NONE: most(0), ROW: most(1), COLUMN: most(0)}


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
    """Whether pairs of neighbouring blocks bring what both need together."""
    if prod(kernel.cluster) > 1:
        reason = "the kernel says which blocks belong together"
        key = f"{kernel.name}.tiles.cluster"
        return decide(plan, cx, key, (), reason=reason, allowed=((),), by="user")
    judged = pairs(plan, cx.target, kernel.name, tiles, found, uneven)
    key, allowed = f"{kernel.name}.tiles.cluster", ((), *judged.possible)
    return decide(
        plan,
        cx,
        key,
        judged.value,
        reason=judged.reason,
        allowed=allowed,
        candidates=judged.candidates,
    )


PASS = Pass(
    name="plan-tiles",
    phase="plan",
    plan=plan_tiles,
    requires=("roles planned",),
    ensures=("tiles planned",),
    doc=__doc__,
)
