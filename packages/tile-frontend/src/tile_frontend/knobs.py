"""Environment settings of the frontend, read in one place and typed.

Each is read anew when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.environment import cache_folder, flag, text

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["cache_dir", "cache_disabled", "cache_limit_bytes", "default_target", "verbose"]


def default_target() -> str:
    """``TILE_TARGET``: the target when none is named; "auto" picks what is there."""
    return text("TILE_TARGET") or "auto"


def cache_disabled() -> bool:
    """``TILE_DISABLE_CACHE=1``: neither read nor write compiled kernels on disk."""
    return flag("TILE_DISABLE_CACHE")


def cache_dir() -> Path:
    """``TILE_CACHE_DIR``, else the user's cache folder. It may not exist yet."""
    return cache_folder("kernels")


def cache_limit_bytes() -> int:
    """``TILE_CACHE_LIMIT_MB`` in bytes (default 1024 MB); the oldest kernels go first."""
    try:
        return int(float(text("TILE_CACHE_LIMIT_MB") or "") * (1 << 20))
    except (ValueError, OverflowError):
        return 1 << 30


def verbose() -> bool:
    """``TILE_VERBOSE=1``: log each compilation with its times."""
    return flag("TILE_VERBOSE")
