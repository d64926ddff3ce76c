"""How settings of the environment are read: the same words mean the same in every package.

Which settings there are stands in the `knobs.py` of each package. Every function reads the variable
anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["cache_folder", "choice", "flag", "keep_source", "text"]

NO = frozenset({"", "0", "false", "no", "off"})


def text(name: str) -> str | None:
    """The value of a variable; None where it is unset or empty."""
    return os.environ.get(name) or None


def flag(name: str) -> bool:
    """Whether a variable is set to anything but 0, false, no or off."""
    return os.environ.get(name, "").lower() not in NO


def choice(name: str, choices: Collection[str], code: str) -> str | None:
    """One of `choices`, or None where the variable is unset or empty.

    Raises TileError `code` for any other text.
    """
    found = text(name)
    if found is None or found in choices:
        return found
    raise TileError(
        code,
        f"{name} is {found!r}",
        help=f"Set it to one of {', '.join(choices)}, or unset it.",
    )


def keep_source() -> bool:
    """Whether what was generated is left beside what was built of it (``TILE_KEEP_SOURCE=1``)."""
    return flag("TILE_KEEP_SOURCE")


def cache_folder(name: str) -> Path:
    """A folder in the cache: of ``TILE_CACHE_DIR``, else of the user's. It may not exist yet."""
    chosen = text("TILE_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser() / name
    base = text("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "tile" / name
