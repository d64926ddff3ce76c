"""A configuration: one choice of everything that is tuned.

Two kinds of knob are never mixed. Parameters are Python arguments of the kernel function and change
the program that is traced; pins are decisions of the Plan, by the keys that `kernel.explain()`
shows, and change how one program is compiled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tile_ir.diag import TileError

__all__ = ["PLAN", "Configuration", "Value", "as_configuration", "as_value"]

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"
"""What a parameter or a pin may be: values with a canonical text, so that a configuration survives
a database, a table in YAML and the way to another process."""

PLAN = "plan"
"""The key of a plain dict under which its pins stand, as `plan=` of `tile.jit`."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Parameters and pins by name, each sorted; make one with `Configuration.of`.

    Equal configurations have equal hashes, texts and JSON.
    """

    parameters: tuple[tuple[str, Value], ...] = ()
    pins: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(
        cls, parameters: Mapping[str, Any] | None = None, pins: Mapping[str, Any] | None = None
    ) -> Configuration:
        """Make one from mappings. Raises `TileError` E2201 for a value without a canonical text."""
        return cls(_pairs(parameters or {}), _pairs(pins or {}))

    @property
    def arguments(self) -> dict[str, Value]:
        """The parameters as keyword arguments of the kernel function."""
        return dict(self.parameters)

    @property
    def plan(self) -> dict[str, Value]:
        """The pins as `plan=` of `tile.jit` takes them."""
        return dict(self.pins)

    @property
    def values(self) -> dict[str, Value]:
        """Parameters and pins in one mapping; their names cannot meet, a pin's has a dot."""
        return {**self.arguments, **self.plan}

    def to_json(self) -> str:
        """The canonical text, which `from_json` reads back."""
        return json.dumps(
            {"parameters": self.arguments, PLAN: self.plan}, sort_keys=True, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, text: str) -> Configuration:
        """The configuration of a canonical text."""
        data = json.loads(text)
        return cls.of(data["parameters"], data[PLAN])

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in (*self.parameters, *self.pins)]
        return " ".join(parts) or "(defaults)"


def _pairs(mapping: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple((str(name), as_value(value, str(name))) for name, value in sorted(mapping.items()))


def as_value(value: Any, name: str) -> Value:
    """The value as a configuration holds it: lists become tuples, element types their names.

    Raises `TileError` E2201 for a value without a canonical text; `name` is whose value it is.
    """
    if isinstance(value, (list, tuple)):
        return tuple(as_value(v, name) for v in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TileError(
        "E2201",
        f"{name}={value!r} cannot be tuned",
        notes=("a value must have a text that a database and another process can read back",),
        help="use a bool, a number, text, None, or a list or tuple of those; an element type by "
        'its name: "float16"',
    )


def as_configuration(given: Configuration | Mapping[str, Any]) -> Configuration:
    """A configuration from a dict of parameters; pins stand under the key "plan".

    Raises `TileError` E2201 for anything else.
    """
    if isinstance(given, Configuration):
        return given
    if isinstance(given, Mapping):
        parameters = {name: value for name, value in given.items() if name != PLAN}
        return Configuration.of(parameters, given.get(PLAN))
    raise TileError(
        "E2201",
        f"{given!r} is no configuration",
        help='write a dict of parameters, with pins under "plan": {"block_M": 128, "plan": {...}}',
    )
