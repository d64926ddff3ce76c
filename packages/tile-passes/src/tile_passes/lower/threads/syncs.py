"""Barriers, derived from what pieces read and write: one goes before a piece that touches what
another thread may have touched since the last one, one of the two writing.

The walk keeps what was touched since the last barrier. A loop is walked twice, the second time with
what its own trips leave behind, so a barrier for the next trip is found too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tile_ir.ops import Atomic, Break, Continue, For, Sync, Tiles, While
from tile_ir.rewrite import walk
from tile_passes.lower.threads.pieces import Item, Items, Nest, Piece, assemble
from tile_passes.lower.threads.touches import Touch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_passes.lower.threads.touches import Toucher, Touches

__all__ = ["insert_syncs"]

_BARRIER = Piece((Sync(scope="block"),))


@dataclass(frozen=True, slots=True)
class _Walk:
    toucher: Toucher
    overlap: Callable[[str, str], bool]
    barrier: Piece | None = _BARRIER
    """The barrier of the threads that run the items; None: one thread does."""

    def items(self, items: Items, before: Touches) -> tuple[Items, Touches]:
        out: list[Item] = []
        for item in items:
            made, before = self.item(item, before)
            out.extend(made)
        return tuple(out), before

    def item(self, item: Item, before: Touches) -> tuple[Items, Touches]:
        if isinstance(item, Piece):
            return self._piece(item, before)
        head = self.toucher.head(item)
        lead, before = self._lead(head, before)
        if item.barriers:
            return self._apart(item, lead, before)
        if isinstance(item.stmt, (For, While)) or _repeats(item):
            first, made, after = self._loop(item, head, before)
            return (*lead, *first, made), after
        bodies, after = [], frozenset(before)
        for name, inner in item.bodies:
            part, left = self.items(inner, before)
            bodies.append((name, part))
            after |= left
        return (*lead, Nest(item.stmt, tuple(bodies))), after

    def _apart(self, item: Nest, lead: Items, before: Touches) -> tuple[Items, Touches]:
        """Bodies of which each thread runs one: all meet before, then only those of one body."""
        if before and not lead:
            lead = self._met()
        bodies, after = [], frozenset[Touch]()
        for (name, inner), sync in zip(item.bodies, item.barriers, strict=True):
            barrier = None if sync is None else Piece((sync,))
            part, left = replace(self, barrier=barrier).items(inner, frozenset())
            bodies.append((name, part))
            after |= left
        return (*lead, Nest(item.stmt, tuple(bodies))), after

    def _met(self) -> Items:
        return () if self.barrier is None else (self.barrier,)

    def _loop(self, item: Nest, head: Touches, before: Touches) -> tuple[Items, Nest, Touches]:
        """What goes before the loop, the loop, and what is left.

        A barrier that only the first trip needs goes before the loop.
        """
        ((name, inner),) = item.bodies
        everything = self.toucher.of_all(inner)
        leaves = any(isinstance(s, (Break, Continue)) for s in walk(assemble(inner)))
        _, left = self.items(inner, head)
        own = left | head | (everything if leaves else frozenset())
        if isinstance(item.stmt, Tiles):  # tiles may run at once: they share no global memory
            own = frozenset(t for t in own if not self.toucher.is_global(t.buffer))
        lead: Items = ()
        part, left = self.items(inner, before | own)
        again = self.items(inner, own)
        if again[0] != part:
            lead, before, (part, left) = self._met(), head, again
        entry = before | own
        left |= entry if leaves else frozenset()
        # The condition of the next trip is evaluated after this one.
        if isinstance(item.stmt, While) and self._conflict(head, left):
            part, left = (*part, *self._met()), frozenset()
        return lead, Nest(item.stmt, ((name, part),)), before | left | head

    def _lead(self, touches: Touches, before: Touches) -> tuple[Items, Touches]:
        if self._conflict(touches, before):
            return self._met(), touches
        return (), before | touches

    def _piece(self, piece: Piece, before: Touches) -> tuple[Items, Touches]:
        if any(isinstance(s, Sync) and _meets_all(s) for s in piece.body):
            return (piece,), frozenset()  # the user's barrier, or the planner's
        if any(isinstance(s, Atomic) and s.order != "relaxed" for s in walk(piece.body)):
            # One thread tells other blocks of what all threads did, and learns for all of them.
            return (*(self._met() if before else ()), piece, *self._met()), frozenset()
        lead, after = self._lead(self.toucher.of(piece), before)
        return (*lead, piece), after

    def _conflict(self, new: Touches, old: Touches) -> bool:
        return any(
            not (a.how == c.how and a.how != "write")
            and not (a.buffer == c.buffer and a.owner is not None and a.owner == c.owner)
            and self.overlap(a.buffer, c.buffer)
            for a in new
            for c in old
        )


def _meets_all(s: Sync) -> bool:
    return s.scope in ("block", "role") or (s.scope == "cluster" and s.part != "arrive")


def _repeats(item: Nest) -> bool:
    return isinstance(item.stmt, Tiles) and item.stmt.claim != "hardware"


def insert_syncs(items: Items, toucher: Toucher, overlap: Callable[[str, str], bool]) -> Items:
    """The items with barriers between; `overlap` tells whether two buffers share memory."""
    made, _ = _Walk(toucher, overlap).items(items, frozenset())
    return made
