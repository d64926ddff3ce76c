"""What stands for lambdas, which Metal does not have: structures with one static function.

A function of the prelude takes such a structure as a template argument. Each emitted function has
its own, numbered in order of first use; equal texts share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Functors"]

LETTERS = ("a", "b", "c")


@dataclass(slots=True)
class Functors:
    """The structures that the text of one function uses: name -> definition."""

    definitions: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    def name(self, text: str, parameters: Sequence[str]) -> str:
        """The structure whose function `of` computes a text of these parameters."""
        key = (text, tuple(parameters))
        if key not in self.names:
            name = self.names[key] = f"tile_each_{len(self.names)}"
            self.definitions[name] = _definition(name, text, key[1])
        return self.names[key]

    def apply(self, function: str, text: str, args: tuple[str, ...]) -> str:
        """The call of a prelude function with a structure that computes a text in a, b, c."""
        return f"{function}<{self.name(text, LETTERS[: len(args)])}>({', '.join(args)})"

    def fold(self, text: str, vector: str) -> str:
        """All lanes of a vector combined by a text in a and b."""
        return f"tile_fold<{self.name(text, LETTERS[:2])}>({vector})"


def _definition(name: str, text: str, parameters: tuple[str, ...]) -> str:
    classes = ", ".join(f"class {p.upper()}" for p in parameters)
    declared = ", ".join(f"{p.upper()} {p}" for p in parameters)
    return "\n".join(
        [
            f"struct {name} {{",
            f"  template <{classes}>",
            f"  static auto of({declared}) {{ return {text}; }}",
            "};",
        ]
    )
