"""The names of the language, for errors that tell which one was meant. The language is made of what
is traced here, so it hands them over when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NAMES", "TileAttributeError", "learn"]

NAMES: dict[str, Any] = {}
"""Name -> what it stands for."""


class TileAttributeError(TileError, AttributeError):
    """An unknown name or attribute; also an `AttributeError` to Python."""


def learn(names: Mapping[str, Any]) -> None:
    """Take over the names of the language."""
    NAMES.update(names)
