"""What the blocks of one kernel have in common while they are simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Barriers, Channel, For, Role, Tiles
    from tile_ir.target import TargetSpec
    from tile_passes.model.values import Values
    from tile_passes.model.work import Costs, Work

__all__ = ["Program", "set_tile", "trips_of"]

UNKNOWN_TRIPS = 8
"""Trips assumed for a loop whose count is not known."""


@dataclass(slots=True)
class Program:
    """What all blocks of a kernel share: costs, how much of each load comes from where, and the
    rates of this run.

    `moves` gives the cycles of a core's port to memory and of its part of the device's memory for
    what a statement loads and stores, `latency` those until a load has come.
    """

    spec: TargetSpec
    costs: Costs
    buffers: Mapping[str, Buffer]
    moves: Callable[[Stmt, Work], tuple[float, float]]
    latency: Callable[[Stmt], float]
    channels: dict[str, Channel] = field(default_factory=dict)
    barriers: dict[str, Barriers] = field(default_factory=dict)
    """Those that the user wrote."""
    threads: int = 1
    roles: tuple[Role, ...] = ()
    body: Body = ()
    outside: Tiles | None = None
    """The tile loop around the roles, where it is not in each of them."""
    labels: dict[int, str] = field(default_factory=dict)


def set_tile(values: Values, tiles: Tiles, number: int) -> None:
    """Bind the variables of a tile loop for its `number`-th tile; the first runs fastest."""
    for var, extent in zip(tiles.vars, tiles.extents, strict=True):
        count = max(1, values.number(extent, 1))
        values.bound[var], number = number % count, number // count


def trips_of(stmt: For, values: Values) -> tuple[int, int | None, int]:
    """The trips of a loop, its first value where that is known, and its step."""
    start, stop, step = map(values.of, (stmt.start, stmt.stop, stmt.step))
    if start is None or stop is None or not step:
        return UNKNOWN_TRIPS, start, step or 1
    return max(0, -((start - stop) // step)), start, step
