"""One pipelined loop, expanded: prologue, steady loop and epilogue from a stage and a place in the
order per statement.

Instance p runs a statement of stage s on iteration p - s. Instances below the largest stage S are
the prologue, those from the trip count on the epilogue. Fills of channels may have negative stages:
they run ahead of the loop, in the steady loop under the condition that their iteration exists.
Waits stand before the first reader of a filling, releases after the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Slot
from tile_ir.ops import For, If, Release, Wait
from tile_ir.rewrite import map_all_exprs, replace, substitute
from tile_passes.expand.slots import with_slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr
    from tile_ir.opdef import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What one place in the order runs: a statement of the body, or the filling of a channel."""

    stage: int
    body: Body
    fills: str = ""
    """The channel that it fills, else empty."""
    reads: frozenset[str] = frozenset()
    """Channels of this body that it reads."""
    behind: str = ""
    """A channel for which the threads have waited before, if the instance reads it at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A channel of this body: its buffers, and the items that read a filling first and last."""

    name: str
    buffers: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Instance:
    """Which iteration each stage works on. `number` is its distance from the prologue's start or
    the epilogue's.
    """

    value: Callable[[int], Expr]
    number: int
    part: str
    """prologue, steady or epilogue."""

    def runs(self, stage: int) -> bool:
        """Whether statements of the stage run at all."""
        if self.part == "prologue":
            return stage <= self.number
        return self.part == "steady" or stage > self.number

    def newest(self, stage: int) -> int:
        """The newest iteration, relative to this instance, that statements of `stage` have seen in
        it.
        """
        newest = -stage
        return min(newest, -1 - self.number) if self.part == "epilogue" else newest


class Expansion:
    """Expands one loop. `items` are in the planned order."""

    def __init__(self, loop: For, items: tuple[Item, ...], carried: tuple[Carried, ...]) -> None:
        self.loop, self.items, self.carried = loop, items, carried
        assert isinstance(loop.step, Const)
        self.step = int(loop.step.value)
        self.span = max((i.stage for i in items), default=0)
        self.ahead = min((i.stage for i in items), default=0)

    def expand(self, serial: Callable[[], Body]) -> Body:
        """The statements in place of the loop; `serial` makes the plain loop for too few trips."""
        steady = self.steady()
        prologue = tuple(s for p in range(min(self.ahead, 0), self.span) for s in self.prologue(p))
        if self.span == 0:
            return (*prologue, steady)
        epilogue = tuple(s for e in range(self.span) for s in self.epilogue(e))
        enough = self.exists(self.at(self.loop.start, self.span - 1))
        few = () if self.span == 1 else serial()
        made = (*prologue, steady, *epilogue)
        if isinstance(enough, Const):
            return made if enough.value else few
        return (If(cond=enough, then=made, orelse=few, span=self.loop.span),)

    def at(self, base: Expr, iterations: int) -> Expr:
        """The loop variable's value `iterations` after `base`."""
        return b.add(base, iterations * self.step)

    def exists(self, value: Expr) -> Expr:
        """Whether the loop has an iteration of this value (not below the first)."""
        return b.lt(value, self.loop.stop) if self.step > 0 else b.gt(value, self.loop.stop)

    def prologue(self, p: int) -> Body:
        """Instance p, before the steady loop."""
        return self.instance(_Instance(lambda s: self.at(self.loop.start, p - s), p, "prologue"))

    def epilogue(self, e: int) -> Body:
        """Instance trips + e."""
        loop = self.loop
        stop = loop.stop
        if self.step != 1:
            size, step = b.sub(loop.stop, loop.start), abs(self.step)
            trips = b.ceildiv(size if self.step > 0 else b.neg(size), step)
            stop = b.add(loop.start, b.mul(trips, self.step))
        return self.instance(_Instance(lambda s: self.at(stop, e - s), e, "epilogue"))

    def steady(self) -> For:
        """The loop over the instances that run every statement."""
        loop = self.loop
        body = self.instance(_Instance(lambda s: self.at(loop.var, -s), 0, "steady"))
        return replace(
            loop,
            start=self.at(loop.start, self.span),
            kind="serial",
            num_stages=0,
            order=(),
            stage=(),
            body=body,
        )

    def instance(self, inst: _Instance) -> Body:
        """The statements of one instance, in order."""
        out: list[object] = []
        waited: set[str] = set()
        for i, item in enumerate(self.items):
            if not inst.runs(item.stage):
                continue
            self._waits(i, item, inst, waited, out)
            out.extend(self._item(item, inst, waited))
            out.extend(
                Release(channel=c.name, span=item.body[0].span) for c in self.carried if c.last == i
            )
        return tuple(out)  # type: ignore[arg-type]  # statements all

    def _waits(
        self, i: int, item: Item, inst: _Instance, waited: set[str], out: list[object]
    ) -> None:
        """Wait for what the item reads first; a fill that runs ahead comes after the wait for its
        channel, so that one barrier can serve both.
        """
        for c in self.carried:
            first = self.items[c.first]
            early = item.fills == c.name and item.stage < first.stage and inst.runs(first.stage)
            early |= item.behind == c.name and inst.runs(first.stage)
            if (c.first == i or early) and c.name not in waited:
                out.append(Wait(channel=c.name, span=first.body[0].span))
                waited.add(c.name)

    def _item(self, item: Item, inst: _Instance, waited: set[str]) -> Body:
        value = inst.value(item.stage)
        slots = {
            buffer: Slot(c.name, self._back(c, item, inst, c.name in waited))
            for c in self.carried
            if c.name in item.reads
            for buffer in c.buffers
        }
        body = with_slots(item.body, slots)
        if value is not self.loop.var:
            body = map_all_exprs(body, substitute({self.loop.var: value}))
        if item.stage >= 0 or inst.part == "epilogue":
            return body
        cond = self.exists(value)
        if isinstance(cond, Const):
            return body if cond.value else ()
        return (If(cond=cond, then=body, span=item.body[0].span),)

    def _back(self, c: Carried, item: Item, inst: _Instance, waited: bool) -> int:
        """How many fillings before the one waited for last the item means."""
        stage = self.items[c.first].stage
        newest = inst.newest(stage if waited else stage + 1)
        return newest + item.stage
