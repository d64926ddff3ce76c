"""Spaces: which configurations there are to choose from.

A space is a product of choices with constraints, or a list; both look alike to a searcher, which
asks for samples, neighbours and features and never for the whole product of a large space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import log2, prod
from typing import TYPE_CHECKING, Any, TypeAlias

from tile_ir.diag import TileError
from tile_tune.configuration import Configuration, Value, as_configuration, as_value

if TYPE_CHECKING:
    import random

__all__ = ["Choice", "Constraint", "Space", "SpaceLike", "as_space"]

Constraint = Callable[[Mapping[str, Any]], bool]
"""Takes parameters and pins by name and says whether they go together."""

LISTED_MOST = 50_000
"""Products up to this size are listed; of larger ones, samples are drawn and tested."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One axis: a parameter, or a pin of the Plan (`pin=True`), and its values in order.

    The value None of a pin leaves the decision to the planner.
    """

    name: str
    values: tuple[Value, ...]
    pin: bool = False

    @property
    def is_ordered(self) -> bool:
        """Whether the values are numbers, so that near values are alike."""
        return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values)


@dataclass(frozen=True)
class Space:
    """Choices, the constraints among them, and the list of members where it is no product."""

    choices: tuple[Choice, ...]
    constraints: tuple[Constraint, ...] = ()
    listed: tuple[Configuration, ...] | None = field(default=None)

    # -- making spaces

    @classmethod
    def product(
        cls,
        parameters: Mapping[str, Sequence[Any]] | None = None,
        pins: Mapping[str, Sequence[Any]] | None = None,
        constraints: Sequence[Constraint] = (),
    ) -> Space:
        """Every combination of values, by name, that all constraints allow.

        Raises `TileError` E2202 for an axis without values.
        """
        axes = [(n, v, False) for n, v in (parameters or {}).items()]
        axes += [(n, v, True) for n, v in (pins or {}).items()]
        choices = tuple(Choice(n, tuple(as_value(x, n) for x in v), pin) for n, v, pin in axes)
        empty = [c.name for c in choices if not c.values]
        if empty:
            raise _empty(f"the axis {empty[0]} has no values")
        return cls(choices, tuple(constraints))

    @classmethod
    def of(cls, configurations: Sequence[Configuration | Mapping[str, Any]]) -> Space:
        """The listed configurations, each once, in their order.

        Raises `TileError` E2202 for an empty list.
        """
        listed = tuple(dict.fromkeys(as_configuration(c) for c in configurations))
        if not listed:
            raise _empty("the list of configurations is empty")
        axes: dict[tuple[str, bool], dict[Value, None]] = {}
        for c in listed:
            for pairs, pin in ((c.parameters, False), (c.pins, True)):
                for name, value in pairs:
                    axes.setdefault((name, pin), {})[value] = None
        for name, pin in axes:
            if any(name not in dict(c.pins if pin else c.parameters) for c in listed):
                axes[name, pin][None] = None  # left out: the default, or the planner's
        choices = tuple(Choice(n, _ordered(tuple(v)), pin) for (n, pin), v in axes.items())
        return cls(choices, (), listed)

    def where(self, *constraints: Constraint) -> Space:
        """The same space under more constraints."""
        return replace(self, constraints=(*self.constraints, *constraints))

    def with_choices(self, *choices: Choice) -> Space:
        """The space with these axes beside its own, or in the place of those of the same name.

        Raises `TileError` E2202 for a listed space.
        """
        if self.listed is not None:
            raise _empty("a list of configurations takes no further axes")
        kept = tuple(c for c in self.choices if c.name not in {x.name for x in choices})
        return replace(self, choices=(*kept, *choices))

    # -- asking

    @property
    def bound(self) -> int:
        """How many members there are at most; constraints may leave fewer."""
        if self.listed is not None:
            return len(self.listed)
        return prod(len(c.values) for c in self.choices)

    def allows(self, configuration: Configuration) -> bool:
        """Whether all constraints hold. Raises `TileError` E2202 for one that fails itself."""
        values = {c.name: None for c in self.choices} | configuration.values
        return all(_holds(test, values) for test in self.constraints)

    def __iter__(self) -> Iterator[Configuration]:
        """Every member. Large products are walked lazily."""
        if self.listed is not None:
            yield from filter(self.allows, self.listed)
            return
        for values in product(*(c.values for c in self.choices)):
            made = self._made(values)
            if self.allows(made):
                yield made

    @cached_property
    def members(self) -> tuple[Configuration, ...]:
        """Every member, listed once.

        Raises `TileError` E2202 when there is none, or when the product is too large to list.
        """
        if self.bound > LISTED_MOST:
            raise _empty(f"{self.bound} combinations are too many to list")
        found = tuple(dict.fromkeys(self))
        if not found:
            raise _empty("no combination meets the constraints")
        return found

    @property
    def is_small(self) -> bool:
        """Whether the space can be listed."""
        return self.bound <= LISTED_MOST

    def first(self) -> Configuration:
        """The first member: what is used where nothing is known. Raises as `members`."""
        found = next(iter(self), None)
        if found is None:
            raise _empty("no combination meets the constraints")
        return found

    def sample(self, rng: random.Random, count: int) -> list[Configuration]:
        """Up to `count` different members at random."""
        if self.is_small:
            return rng.sample(self.members, min(count, len(self.members)))
        found: dict[Configuration, None] = {}
        for _ in range(200 * count):
            made = self._made([rng.choice(c.values) for c in self.choices])
            if self.allows(made):
                found[made] = None
            if len(found) == count:
                break
        return list(found)

    def neighbours(self, configuration: Configuration) -> list[Configuration]:
        """Members that differ in one axis: by one step of an ordered one, by any value of others.

        Of a list: the members that differ in the fewest axes.
        """
        if self.listed is not None:
            return self._nearest(configuration)
        found = []
        mine = configuration.values
        for at, choice in enumerate(self.choices):
            for value in _steps(choice, mine.get(choice.name)):
                values = [mine.get(c.name) for c in self.choices]
                values[at] = value
                made = self._made(values)
                if self.allows(made):
                    found.append(made)
        return found

    def features(self, configuration: Configuration) -> list[float]:
        """Numbers between 0 and 1 for a model: a coordinate for an ordered axis (logarithmic where
        all values are positive), one indicator per value for others."""
        mine, out = configuration.values, []
        for choice in self.choices:
            value = mine.get(choice.name)
            if choice.is_ordered:
                out.append(_coordinate(choice, value))
            elif len(choice.values) > 1:
                out += [float(value == v) for v in choice.values]
        return out

    def _made(self, values: Sequence[Value]) -> Configuration:
        named = list(zip(self.choices, values, strict=True))
        return Configuration.of(
            {c.name: v for c, v in named if not c.pin},
            {c.name: v for c, v in named if c.pin and v is not None},
        )

    def _nearest(self, configuration: Configuration) -> list[Configuration]:
        mine = configuration.values
        distances = {
            c: sum(mine.get(x.name) != c.values.get(x.name) for x in self.choices)
            for c in self
            if c != configuration
        }
        least = min(distances.values(), default=0)
        return [c for c, d in distances.items() if d == least]


SpaceLike: TypeAlias = (
    "Space | Mapping[str, Sequence[Any]] | Sequence[Configuration | Mapping[str, Any]]"
)
"""A space, a dict of lists (their product; pins under "plan"), or a list of configurations."""


def as_space(given: SpaceLike) -> Space:
    """The space that a user's value means. Raises `TileError` E2201 and E2202."""
    if isinstance(given, Space):
        return given
    if isinstance(given, Mapping):
        parameters = {n: v for n, v in given.items() if n != "plan"}
        pins: Any = given.get("plan", {})
        return Space.product(parameters, pins)
    return Space.of(list(given))


def _ordered(values: tuple[Value, ...]) -> tuple[Value, ...]:
    axis = Choice("", values)
    return tuple(sorted(values)) if axis.is_ordered else values  # type: ignore[type-var]


def _steps(choice: Choice, value: Value) -> list[Value]:
    if value not in choice.values or not choice.is_ordered:
        return [v for v in choice.values if v != value]
    at = choice.values.index(value)
    return [choice.values[i] for i in (at - 1, at + 1) if 0 <= i < len(choice.values)]


def _coordinate(choice: Choice, value: Value) -> float:
    numbers = [float(v) for v in choice.values if isinstance(v, (int, float))]
    scale: Callable[[float], float] = log2 if min(numbers) > 0 else float
    low, high = scale(min(numbers)), scale(max(numbers))
    if low == high or not isinstance(value, (int, float)):
        return 0.5
    return (scale(float(value)) - low) / (high - low)


def _holds(test: Constraint, values: Mapping[str, Any]) -> bool:
    try:
        return bool(test(values))
    except Exception as cause:
        name = getattr(test, "__name__", repr(test))
        raise TileError(
            "E2202",
            f"the constraint {name} fails with {type(cause).__name__}: {cause}",
            notes=(f"it was asked about {dict(values)}",),
            help="a constraint takes a mapping of parameters and pins by name; a pin that is left "
            "to the planner is None",
        ) from cause


def _empty(why: str) -> TileError:
    return TileError(
        "E2202",
        f"there is nothing to tune: {why}",
        help="give every axis a value, loosen the constraints, or tune fewer axes at once",
    )
