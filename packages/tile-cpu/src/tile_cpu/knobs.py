"""Environment settings of the CPU target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two launches.
"""

from __future__ import annotations

import os
from pathlib import Path

from tile_ir.diag import TileError

__all__ = [
    "available_cpus",
    "cache_dir",
    "compiler",
    "emulator_schedule",
    "keep_source",
    "num_threads",
    "requested_arch",
]


def compiler() -> str | None:
    """Command of the C compiler that the user asked for (``CC``), or None."""
    return os.environ.get("CC") or None


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_CPU_ARCH``), or None for this machine's."""
    return os.environ.get("TILE_CPU_ARCH") or None


def keep_source() -> bool:
    """Whether the C source is left beside each library (``TILE_KEEP_SOURCE=1``)."""
    return os.environ.get("TILE_KEEP_SOURCE", "0") not in ("", "0")


def num_threads() -> int:
    """Threads per launch: ``TILE_NUM_THREADS``, else the CPUs this process may run on.

    Raises TileError E0807 where the variable is no positive integer.
    """
    text = os.environ.get("TILE_NUM_THREADS")
    if not text:
        return available_cpus()
    if text.strip().isdigit() and int(text) > 0:
        return int(text)
    raise TileError(
        "E0807",
        f"TILE_NUM_THREADS is {text!r}",
        notes=("It is the number of threads that run one kernel.",),
        help="Set it to an integer from 1 up, or unset it to use every CPU of this process.",
    )


def available_cpus() -> int:
    """CPUs in this process's affinity mask; all CPUs where the system has no such mask."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def cache_dir() -> Path:
    """Folder for compiled helpers and compiler versions: ``TILE_CACHE_DIR``, else the user's cache.

    The folder may not exist yet.
    """
    chosen = os.environ.get("TILE_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser() / "cpu"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "tile" / "cpu"


def emulator_schedule() -> tuple[str, int]:
    """Order of threads and seed of emulated kernels: ``TILE_EMULATOR_SCHEDULE``, as `random:3`.

    Raises TileError E0807 for an order that there is not.
    """
    text = os.environ.get("TILE_EMULATOR_SCHEDULE", "round-robin")
    name, _, seed = text.partition(":")
    if name in ("round-robin", "reverse", "random") and (seed or "0").isdigit():
        return name, int(seed or 0)
    raise TileError(
        "E0807",
        f"TILE_EMULATOR_SCHEDULE is {text!r}",
        help="Set it to round-robin, reverse, random, or random:SEED.",
    )
