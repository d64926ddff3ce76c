"""Whether neighbouring blocks bring what both need together, by what that saves and costs.

Two blocks of a cluster that work on neighbouring tiles read one operand alike: each brings half of
it to both. That takes load off the cache, which matters as far as the matrix engine shares its
power and its time with the cache. In return every slot waits until both blocks are done with it,
and blocks meet when they begin and end. More than two blocks do not fill a device whose cores come
in groups of odd size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_passes.plan.balance import work_of
from tile_passes.plan.cost import product_cycles
from tile_passes.plan.model import Candidate
from tile_passes.plan.plan_roles import GENERIC
from tile_passes.plan.reuse import COLUMN, ROW, reached, traffic_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tile_ir.expr import Var
    from tile_ir.ops import Tiles
    from tile_ir.target import TargetSpec
    from tile_passes.plan.model import Plan
    from tile_passes.plan.reuse import Traffic
    from tile_passes.plan.survey import Fill, Survey

__all__ = ["PAIR", "Pairs", "pairs"]

PAIR = 2
"""Blocks of a cluster."""

LOAD = 0.04
"""Part of the time in which the cache delivers that the matrix engine is slower meanwhile. With the
two figures below it says of a product of 128x256 tiles that sharing the larger operand gains 0.4%,
the smaller one loses 0.3%, and that sharing loses 0.6% with tiles of 128x128. Measured on 132 cores
with 16-bit operands: +0.1% to +1.9%, -2.5%, -1.5%."""

JOIN = 10.0
"""Cycles of an iteration that two blocks lose by waiting for each other."""

LEAST = 0.002
"""Part of an iteration that is too small to be worth it."""

_ROWS = 16
"""Rows of two parts of a tile: each begins where a swizzle repeats."""

Value = tuple[str, int, str]
"""Axis, blocks, operand."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The ways to pair blocks, and which is best: () for none."""

    possible: tuple[Value, ...]
    value: tuple[()] | Value
    reason: str
    candidates: tuple[Candidate, ...]


def pairs(
    plan: Plan,
    spec: TargetSpec,
    kernel: str,
    tiles: Tiles,
    found: Survey,
    uneven: Collection[Var] = (),
) -> Pairs:
    """Judge every axis and operand; the tiles' order is planned. Along `uneven` axes tiles take
    unequally long."""
    why = _never(spec)
    brought = [] if why else list(_brought(plan, spec, kernel, tiles, found))
    matrix = _matrix_cycles(plan, spec, kernel, found)
    if not brought:
        why = why or "no engine brings anything to two blocks"
        return Pairs((), (), why, ())
    apart = _cycles(spec, matrix, sum(t.bytes for _, t in traffic_of(found, tiles)))
    made = [Candidate((), apart, "cycles of an iteration, each block for itself")]
    possible: list[Value] = []
    meeting = _meetings(spec) / _iterations(plan, spec, kernel, tiles, found)
    for axis, fill, traffic in brought:
        value = (tiles.vars[axis].name, PAIR, fill.buffer.name)
        refused = _unlike(tiles, axis, found, uneven) or _unshared(fill)
        refused = refused or _refused(plan, kernel, tiles, axis)
        if refused:
            made.append(Candidate(value, None, refused))
            continue
        possible.append(value)
        saved = traffic.bytes * (PAIR - 1) / PAIR / _delivered(spec) * LOAD
        cost = apart - saved + JOIN + meeting
        why = f"cycles of an iteration, {traffic.bytes} bytes are shared"
        made.append(Candidate(value, cost, why))
    best = min((c for c in made if c.cost is not None), key=lambda c: c.cost or 0.0)
    gain = 1.0 - (best.cost or 0.0) / apart
    if not possible:
        return Pairs((), (), "neighbours cannot share what they both need", tuple(made))
    if best.value == () or gain < LEAST:
        reason = f"no gain over {apart:.0f} cycles of an iteration for waiting for each other"
        return Pairs(tuple(possible), (), reason, tuple(made))
    reason = f"{gain:.1%} less than {apart:.0f} cycles of an iteration: the cache delivers less"
    return Pairs(tuple(possible), best.value, reason, tuple(made))  # type: ignore[arg-type]  # a Value


def _never(spec: TargetSpec) -> str:
    """Why no blocks can be paired, empty where some might."""
    if spec.cluster.blocks < PAIR or not spec.cluster.multicast:
        return "no engine brings anything to two blocks"
    if spec.rates.cores % PAIR:
        return f"pairs would leave one of {spec.rates.cores} cores empty"
    return ""


def _brought(
    plan: Plan, spec: TargetSpec, kernel: str, tiles: Tiles, found: Survey
) -> Iterator[tuple[int, Fill, Traffic]]:
    """What does not move along one of the first two axes, and an engine brings to several."""
    for axis in range(min(2, len(tiles.vars))):
        for fill, traffic in traffic_of(found, tiles):
            engine = spec.copy.get(str(plan.value(f"{kernel}.{fill.name}.engine", "")))
            if engine is not None and engine.multicast and not traffic.along[axis]:
                yield axis, fill, traffic


def _refused(plan: Plan, kernel: str, tiles: Tiles, axis: int) -> str:
    """Why neighbours along an axis cannot share an operand, empty where they can."""
    name, extent = tiles.vars[axis].name, tiles.extents[axis]
    raster = plan.value(f"{kernel}.tiles.raster", "none")
    panel = plan.value(f"{kernel}.tiles.panel", 0)
    looped = plan.value(f"{kernel}.tiles.claim", "hardware") != "hardware"
    along = {ROW: (1,), COLUMN: (0,)}.get(str(raster), (0,) if looped else (0, 1))
    if axis not in along:
        return f"tiles that follow each other differ along the other axis than {name}"
    if not isinstance(extent, Const):
        return f"how many tiles there are along {name} is not known"
    if extent.value % PAIR:
        return f"{extent.value} tiles along {name} leave one without a partner"
    if isinstance(panel, int) and panel % PAIR:
        return f"panels of {panel} leave one tile without a partner"
    return ""


def _unlike(tiles: Tiles, axis: int, found: Survey, uneven: Collection[Var]) -> str:
    """Why neighbours along an axis might not run the same loops, empty where they do: both have to
    fill each slot."""
    var = tiles.vars[axis]
    bounds = {e for _, loop in found.loops for e in (loop.start, loop.stop)}
    if var in uneven or var in reached(tiles, bounds):
        return f"tiles along {var.name} take unequally long"
    if any(len(path) > 1 for path, _ in found.loops):
        return "its loop stands inside of others, or of branches"
    return ""


def _unshared(fill: Fill) -> str:
    """Why two blocks cannot bring half of an operand each, empty where they can."""
    rows = fill.buffer.shape[0]
    whole = len(fill.buffer.shape) > 1 and isinstance(rows, Const) and rows.value % _ROWS == 0
    return "" if whole else f"{fill.buffer.name} has no {_ROWS} rows to share evenly"


def _matrix_cycles(plan: Plan, spec: TargetSpec, kernel: str, found: Survey) -> float:
    """Cycles of an iteration's products."""
    atoms = (
        (p, spec.matrix.get(str(plan.value(f"{kernel}.{p.name}.atom", GENERIC))))
        for p in found.products
    )
    return sum((product_cycles(p.shape, atom, spec) for p, atom in atoms), 0.0)


def _meetings(spec: TargetSpec) -> float:
    """Cycles in which the blocks of a pair meet at their begin and end."""
    wide = [x.latency for x in spec.barriers.values() if (x.kind, x.scope) == ("plain", "cluster")]
    return 2.0 * max(wide, default=0)


def _iterations(plan: Plan, spec: TargetSpec, kernel: str, tiles: Tiles, found: Survey) -> float:
    """Iterations of a block from its begin to its end; very many where they are not known."""
    work = work_of(tiles, tiles.vars[0], tuple(loop for _, loop in found.loops))
    if work is None:
        return 1e9
    mean = sum(work.trips) / len(work.trips)
    looped = plan.value(f"{kernel}.tiles.claim", "hardware") != "hardware"
    return max(mean * (max(work.tiles / spec.rates.cores, 1.0) if looped else 1.0), 1.0)


def _delivered(spec: TargetSpec) -> float:
    """Bytes that the cache delivers to a core in a cycle."""
    return spec.rates.cache_bytes or 1.0


def _cycles(spec: TargetSpec, matrix: float, brought: int) -> float:
    """An iteration of a block that brings everything itself."""
    return max(matrix, 1.0) + LOAD * brought / _delivered(spec)
