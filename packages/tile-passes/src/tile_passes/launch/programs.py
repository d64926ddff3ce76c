"""Running compilers, and finding the one that comes as a Python package."""

from __future__ import annotations

import os
import subprocess
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["packaged_clang", "run_program"]

LIMIT_SECONDS = 600.0


def run_program(command: Sequence[str], folder: str) -> tuple[int, str]:
    """Status and output of a program that is run in a folder. Raises OSError where it cannot be
    started."""
    # Messages are parsed, so they must be English.
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        return 1, f"error: no answer for {error.timeout} seconds"
    return done.returncode, done.stdout + done.stderr


def packaged_clang() -> tuple[str, str] | None:
    """The program in the package ziglang, whose first argument is the tool (`clang`, `ld.lld`), and
    its release; None where the package is not installed."""
    found = util.find_spec("ziglang")
    if found is None or found.origin is None:
        return None
    name = "zig.exe" if os.name == "nt" else "zig"
    return str(Path(found.origin).with_name(name)), f"ziglang {metadata.version('ziglang')}"
