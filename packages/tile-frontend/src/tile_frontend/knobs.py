"""Environment settings of the frontend, read in one place and typed.

Each is read anew when it is needed.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_dir", "cache_disabled", "cache_limit_bytes", "default_target", "verbose"]


def _flag(name: str) -> bool:
    return os.environ.get(name, "0").lower() not in ("", "0", "false", "no", "off")


def default_target() -> str:
    """``TILE_TARGET``: the target when none is named; "auto" picks what is there."""
    return os.environ.get("TILE_TARGET") or "auto"


def cache_disabled() -> bool:
    """``TILE_DISABLE_CACHE=1``: neither read nor write compiled kernels on disk."""
    return _flag("TILE_DISABLE_CACHE")


def cache_dir() -> Path:
    """``TILE_CACHE_DIR``, else the user's cache folder. It may not exist yet."""
    chosen = os.environ.get("TILE_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser() / "kernels"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "tile" / "kernels"


def cache_limit_bytes() -> int:
    """``TILE_CACHE_LIMIT_MB`` in bytes (default 1024 MB); the oldest kernels go first."""
    try:
        return int(float(os.environ.get("TILE_CACHE_LIMIT_MB", "")) * (1 << 20))
    except (ValueError, OverflowError):
        return 1 << 30


def verbose() -> bool:
    """``TILE_VERBOSE=1``: log each compilation with its times."""
    return _flag("TILE_VERBOSE")
