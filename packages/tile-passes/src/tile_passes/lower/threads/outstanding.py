"""What may be under way at a point of one role's program: groups of engines, and slots of channels.

All numbers are bounds over the paths that lead to the point, on the side on which a wait built from
them waits longer: ages of groups from below, slots taken and given back from above.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Outstanding"]

_OLDEST = 7
"""Ages are counted up to here: machines encode the number of groups left pending in a few bits."""

Ages = tuple[int, ...]
"""For several groups of an engine, how many were closed after each."""


@dataclass(frozen=True, slots=True)
class Outstanding:
    """Immutable; every method gives the state after one operation."""

    tokens: Mapping[tuple[str, str], Ages] = field(default_factory=dict)
    """By engine and token: the last group of that name first."""
    fillings: Mapping[str, Ages | None] = field(default_factory=dict)
    """By channel: its groups that were not waited for, oldest first; None: not known."""
    held: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By channel: slots waited for and not yet released, at least and at most."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """By channel: slots acquired and not yet released, at most."""
    loose: Mapping[str, int] = field(default_factory=dict)
    """By channel: releases since the last barrier of the threads, at most."""

    # -- groups

    def closed(self, engine: str, of: Mapping[str, str]) -> Outstanding:
        """One more group of an engine; `of` names the engine of each channel."""
        tokens = {k: _older(v) if k[0] == engine else v for k, v in self.tokens.items()}
        fillings = {
            k: _older(v) if v is not None and of.get(k) == engine else v
            for k, v in self.fillings.items()
        }
        return replace(self, tokens=tokens, fillings=fillings)

    def named(self, engine: str, token: str) -> Outstanding:
        """The last group of the engine has a name."""
        old = self.tokens.get((engine, token), ())
        return replace(self, tokens={**self.tokens, (engine, token): (0, *old[:_OLDEST])})

    def pending(self, token: str, back: int) -> tuple[str, int] | None:
        """The engine of a group and how many younger ones may stay; None where no path has it."""
        for (engine, name), ages in self.tokens.items():
            if name == token and back < len(ages):
                return engine, ages[back]
        return None

    # -- slots

    def acquired(self, channel: str, depth: int) -> Outstanding:
        """One more slot is being filled."""
        count = min(depth, self.taken.get(channel, 0) + 1)
        return replace(self, taken={**self.taken, channel: count})

    def filled(self, channel: str) -> Outstanding:
        """The last group of its engine fills a slot of the channel."""
        old = self.fillings.get(channel, ())
        made = None if old is None else (*old, 0)
        return replace(self, fillings={**self.fillings, channel: made})

    def oldest(self, channel: str) -> int:
        """How many groups are younger than the filling to be waited for next."""
        found = self.fillings.get(channel, ())
        return found[0] if found else 0

    def waited(self, channel: str, depth: int) -> Outstanding:
        """The oldest filling is there."""
        found = self.fillings.get(channel, ())
        low, high = self.held.get(channel, (0, 0))
        return replace(
            self,
            fillings={**self.fillings, channel: found[1:] if found else found},
            held={**self.held, channel: (min(low + 1, depth), min(high + 1, depth))},
        )

    def released(self, channel: str, depth: int) -> Outstanding:
        """The oldest slot held is free."""
        low, high = self.held.get(channel, (0, 0))
        return replace(
            self,
            held={**self.held, channel: (max(low - 1, 0), max(high - 1, 0))},
            taken={**self.taken, channel: max(self.taken.get(channel, 0) - 1, 0)},
            loose={**self.loose, channel: min(self.loose.get(channel, 0) + 1, depth)},
        )

    def synchronized(self) -> Outstanding:
        """The threads have met."""
        return replace(self, loose={})

    def is_empty(self, channel: str) -> bool:
        """Whether no slot of the channel is in use on any path."""
        found = self.fillings.get(channel, ())
        held = self.held.get(channel, (0, 0))
        return found == () and held == (0, 0) and not self.taken.get(channel, 0)

    def emptied(self, channel: str) -> Outstanding:
        """No slot of the channel is in use."""
        return replace(
            self,
            fillings={**self.fillings, channel: ()},
            held={**self.held, channel: (0, 0)},
            taken={**self.taken, channel: 0},
        )

    # -- paths

    def join(self, other: Outstanding) -> Outstanding:
        """What may be under way on either of two paths."""
        tokens = {
            key: _least(self.tokens.get(key, ()), other.tokens.get(key, ()))
            for key in {**self.tokens, **other.tokens}
        }
        fillings: dict[str, Ages | None] = {}
        for name in {**self.fillings, **other.fillings}:
            mine, theirs = self.fillings.get(name, ()), other.fillings.get(name, ())
            same = mine is not None and theirs is not None and len(mine) == len(theirs)
            fillings[name] = _least(mine or (), theirs or ()) if same else None
        held = {
            name: _hull(self.held.get(name, (0, 0)), other.held.get(name, (0, 0)))
            for name in {**self.held, **other.held}
        }
        return Outstanding(
            tokens, fillings, held, _most(self.taken, other.taken), _most(self.loose, other.loose)
        )


def _older(ages: Ages) -> Ages:
    return tuple(min(age + 1, _OLDEST) for age in ages)


def _least(a: Ages, c: Ages) -> Ages:
    """A group that only one path has does not bother the other."""
    return tuple(min(x, y) for x, y in zip_longest(a, c, fillvalue=_OLDEST))


def _hull(a: tuple[int, int], c: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], c[0]), max(a[1], c[1])


def _most(a: Mapping[str, int], c: Mapping[str, int]) -> dict[str, int]:
    return {name: max(a.get(name, 0), c.get(name, 0)) for name in {**a, **c}}
