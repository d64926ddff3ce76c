"""The catalogue of diagnostic codes: each has a title and an explanation with what to do. `tile
explain CODE` prints it."""

from __future__ import annotations

import importlib
import pkgutil

__all__ = ["catalogue"]


def catalogue() -> dict[str, tuple[str, str]]:
    """Every code of the installed areas: code -> (title, explanation)."""
    found: dict[str, tuple[str, str]] = {}
    for area in pkgutil.iter_modules(__path__):
        found.update(importlib.import_module(f"{__name__}.{area.name}").CODES)
    return dict(sorted(found.items()))
