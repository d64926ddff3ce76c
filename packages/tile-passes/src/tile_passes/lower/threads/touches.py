"""Which memory that other threads see the statements of a tree of pieces touch.

Barriers and the arena both ask it of the same pieces, some several times, so answers are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tile_ir.opdef import Access
from tile_ir.rewrite import all_effects, effects
from tile_passes.lower.threads.pieces import Item, Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Effect
    from tile_passes.lower.threads.owners import Owner
    from tile_passes.lower.threads.pieces import Items, Nest

__all__ = ["Touch", "Toucher", "Touches"]


class Touch(NamedTuple):
    """One kind of access to a buffer: "read", "write" or "update", by whom if that is known."""

    buffer: str
    how: str
    owner: Owner | None


Touches = frozenset[Touch]
_SEEN_BY_OTHERS = ("global", "shared")


@dataclass(frozen=True, slots=True)
class Toucher:
    """The touches of pieces over the buffers of a function."""

    buffers: Mapping[str, Buffer]
    _known: dict[int, tuple[Item, Touches]] = field(default_factory=dict)
    """By identity; holding the item keeps its identity from being used again."""

    def of(self, item: Item) -> Touches:
        """What an item touches, all that is nested in it included."""
        found = self._known.get(id(item))
        if found is None:
            if isinstance(item, Piece):
                made = self._touches(all_effects(item.body), dict(item.owned))
            else:
                made = self.head(item).union(*(self.of_all(part) for _, part in item.bodies))
            found = self._known[id(item)] = item, made
        return found[1]

    def is_global(self, buffer: str) -> bool:
        """Whether a buffer is memory of the whole device."""
        return self.buffers[buffer].scope == "global"

    def of_all(self, items: Items) -> Touches:
        """What several items touch."""
        return frozenset[Touch]().union(*map(self.of, items))

    def head(self, item: Nest) -> Touches:
        """What the statement itself touches: its condition or bounds."""
        return self._touches(effects(item.stmt), {})

    def _touches(self, found: Iterable[Effect], owned: Mapping[str, Owner]) -> Touches:
        out = set()
        for e in found:
            buffer = self.buffers.get(e.buffer)
            if buffer is None or buffer.scope not in _SEEN_BY_OTHERS:
                continue
            how = "read"
            if e.access & (Access.WRITE | Access.UPDATE):
                how = "update" if e.access & Access.UPDATE else "write"
            out.add(Touch(e.buffer, how, owned.get(e.buffer)))
        return frozenset(out)
