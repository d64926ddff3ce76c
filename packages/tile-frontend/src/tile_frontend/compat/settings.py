"""Switches of the process that such programs set."""

from __future__ import annotations

import logging
import os
from typing import Any

from tile_frontend import knobs

__all__ = [
    "determine_target",
    "disable_cache",
    "enable_cache",
    "is_cache_enabled",
    "logger",
    "set_log_level",
]

logger = logging.getLogger("tile")


def enable_cache() -> None:
    """Keep compiled kernels on disk (the default)."""
    os.environ.pop("TILE_DISABLE_CACHE", None)


def disable_cache() -> None:
    """Neither read nor write compiled kernels on disk."""
    os.environ["TILE_DISABLE_CACHE"] = "1"


def is_cache_enabled() -> bool:
    """Whether compiled kernels are kept on disk."""
    return not knobs.cache_disabled()


def set_log_level(level: int | str) -> None:
    """The level of our logger, as in `logging`."""
    logger.setLevel(level.upper() if isinstance(level, str) else level)


def determine_target(target: Any = "auto", return_object: bool = False) -> Any:
    """What a target means here: its text, or the target itself.

    Raises what `tile_frontend.select` does.
    """
    from tile_frontend.target_select import select  # loads plugins

    found = select(target)
    return found if return_object else str(found)
