"""Where loads come from: which part of what blocks read the device's memory brings, the rest being
in the cache that all cores share.

Blocks that run at once read at about the same time. Of the boxes that a statement brings to all of
them in one step, each distinct one comes from the device's memory once. Of what later waves read
again, as large a part is in the cache as it has room for of all that is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import free_vars
from tile_ir.opdef import bodies
from tile_ir.ops import For, Gemm, Issue, Let, Parallel, Tiles
from tile_passes.model.program import set_tile, trips_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer
    from tile_ir.expr import Var
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.model.values import Values
    from tile_passes.model.work import Costs

__all__ = ["Traffic", "traffic", "typical"]

KEPT = 0.8
"""The part of the shared cache that holds what is read again."""
MOST_BLOCKS = 512
"""Blocks of a wave whose boxes are compared."""
ALIKE = 1.02
"""Tiles whose numbers of statements differ by less are alike."""
MOST_COUNTED = 64
"""Tiles whose bytes are counted; the others are taken to be like those next to them."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that all blocks load and store, those that the device's memory moves of them, and for
    each loading statement (by id) which part of its loads that is."""

    loads: float
    stores: float
    device: float
    flops: float
    """Multiplications and additions of products."""
    misses: Mapping[int, tuple[float, float]]
    weights: Mapping[int, float]
    """Some tiles, scattered over all, with how many statements each carries out."""


@dataclass(slots=True)
class _Moves:
    """The bytes of an array that a statement loads and stores in all tiles, and its boxes in one
    wave."""

    array: str
    stmt: int
    loads: float = 0.0
    stores: float = 0.0
    steps: int = 0
    boxes: set[tuple[int | None, ...]] = field(default_factory=set)


def traffic(
    body: Body, values: Values, costs: Costs, spec: TargetSpec, tiles: int, wave: int
) -> Traffic:
    """Count the loads and stores of `tiles` tiles, `wave` of them at once; `body` has one tile loop
    in each role."""
    found: dict[tuple[int, str], _Moves] = {}
    for number in range(max(1, min(wave, tiles, MOST_BLOCKS))):
        here = values.fork()
        for stmt, _ in _visits(body, here, number, 1.0):
            for access in costs.globals_of(stmt):
                mine = found.setdefault((id(stmt), access.array), _Moves(access.array, id(stmt)))
                mine.steps += 1
                box = tuple(here.of(e) for e in access.starts)
                mine.boxes.add(box if None not in box else (*box, number))
    flops, weights = 0.0, {}
    for number in _scattered(tiles, MOST_COUNTED):
        weights[number] = 0.0
        for stmt, times in _visits(body, values.fork(), number, 1.0):
            weights[number] += times
            flops += costs.of(stmt).flops * times if isinstance(stmt, Gemm) else 0.0
            for access in costs.globals_of(stmt):
                moves = found.get((id(stmt), access.array))
                if moves is not None:
                    moves.loads += access.size * times if access.reads else 0.0
                    moves.stores += access.size * times if access.writes else 0.0
    scale = tiles / len(weights)
    for moves in found.values():
        moves.loads, moves.stores = moves.loads * scale, moves.stores * scale
    return _summed(list(found.values()), costs.buffers, values, spec, flops * scale, weights)


def typical(weights: Mapping[int, float], tiles: int, most: int) -> list[int]:
    """Up to `most` tiles that stand for all: evenly apart in their order, or from the heaviest to
    the lightest where they differ."""
    heaviest, lightest = max(weights.values()), min(weights.values())
    if heaviest <= ALIKE * lightest or tiles <= most:
        return evenly(tiles, most)
    ranked = sorted(weights, key=lambda n: -weights[n])
    return [ranked[i] for i in evenly(len(ranked), most)]


def evenly(count: int, most: int) -> list[int]:
    """Up to `most` numbers below `count`, evenly apart, the first and the last among them."""
    if count <= most:
        return list(range(count))
    if most == 1:
        return [count // 2]
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _scattered(count: int, most: int) -> list[int]:
    """Up to `most` different numbers below `count` that no period of the tiles lines up with."""
    if count <= most:
        return list(range(count))
    golden = 0.6180339887498949
    return list(dict.fromkeys(int((i * golden) % 1.0 * count) for i in range(most)))


def _visits(
    body: Body, values: Values, number: int, times: float, own: set[Var] | None = None
) -> Iterator[tuple[Stmt, float]]:
    """Statements that may touch global memory, each with how often a tile carries it out; `values`
    are those of a time when other tiles carry it out too. `own`: variables of the tile."""
    own = set() if own is None else own
    for stmt in body:
        if isinstance(stmt, Let):
            values.bound[stmt.var] = values.of(stmt.value)
            if free_vars(stmt.value) & own:
                own.add(stmt.var)
        elif isinstance(stmt, Parallel) or not bodies(stmt):
            if isinstance(stmt, Parallel):
                values.bound.update(dict.fromkeys(stmt.vars, 0))
            yield stmt, times
        else:
            trips = 1.0
            if isinstance(stmt, Tiles):
                set_tile(values, stmt, number)
                own.update(stmt.vars)
            elif isinstance(stmt, For):
                trips = float(trips_of(stmt, values)[0])
                values.bound[stmt.var] = _common(stmt, values, own)
            elif isinstance(stmt, Issue):
                trips = 1.0 / max(1, stmt.multicast)
            for inner in bodies(stmt):
                yield from _visits(inner, values, number, times * trips, own)


def _common(stmt: For, values: Values, own: set[Var]) -> int | None:
    """A value of the loop's variable that all tiles come to: the first one, or the last one where
    tiles begin at different ones."""
    start, stop, step = map(values.of, (stmt.start, stmt.stop, stmt.step))
    if not free_vars(stmt.start) & own or stop is None or step is None:
        return start
    return stop - step


def _summed(
    found: list[_Moves],
    buffers: Mapping[str, Buffer],
    values: Values,
    spec: TargetSpec,
    flops: float,
    weights: Mapping[int, float],
) -> Traffic:
    total: dict[str, float] = {}
    for r in found:
        total[r.array] = total.get(r.array, 0.0) + r.loads
    sizes = {name: _array_bytes(buffers[name], values) for name, size in total.items() if size}
    room = KEPT * spec.capacity("l2")
    stays = min(1.0, room / max(sum(sizes.values()), 1.0))
    misses: dict[int, tuple[float, float]] = {}
    device = 0.0
    for r in found:
        part = written = len(r.boxes) / max(1, r.steps)
        if r.loads:
            first = min(1.0, sizes[r.array] / max(total[r.array], 1.0))
            part = max(part * (1.0 - stays), min(part, first))
        before = misses.get(r.stmt, (0.0, 0.0))
        misses[r.stmt] = max(before[0], part if r.loads else 0.0), max(before[1], written)
        device += part * r.loads + written * r.stores
    loads, stores = sum(total.values()), sum(r.stores for r in found)
    return Traffic(loads, stores, device, flops, misses, weights)


def _array_bytes(buffer: Buffer, values: Values) -> float:
    count = prod(max(1, values.number(n, 1)) for n in buffer.shape)
    return count * buffer.dtype.storage_bits / 8
