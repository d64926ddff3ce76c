"""Generated pages: written, or compared with what is there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_or_check(pages: dict[Path, str]) -> int:
    """Write every page; with `--check` on the command line say which differ and return 1. Pages of
    the same folders that nothing generates any more are out of date too."""
    stale = [p for p, text in pages.items() if not p.exists() or p.read_text("utf-8") != text]
    folders = {p.parent for p in pages if len([q for q in pages if q.parent == p.parent]) > 1}
    left = [p for folder in folders for p in sorted(folder.glob("*.md")) if p not in pages]
    if "--check" in sys.argv[1:]:
        for path in (*stale, *left):
            print(f"out of date: {path}: run nox -s surface")
        return int(bool(stale or left))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path], "utf-8")
    for path in left:
        path.unlink()
    return 0
