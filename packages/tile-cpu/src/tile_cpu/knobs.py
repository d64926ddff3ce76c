"""Environment settings of the CPU target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two launches.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.environment import cache_folder, keep_source, text

if TYPE_CHECKING:
    from pathlib import Path

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
    return text("CC")


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_CPU_ARCH``), or None for this machine's."""
    return text("TILE_CPU_ARCH")


def num_threads() -> int:
    """Threads per launch: ``TILE_NUM_THREADS``, else the CPUs this process may run on.

    Raises TileError E0807 where the variable is no positive integer.
    """
    asked = text("TILE_NUM_THREADS")
    if asked is None:
        return available_cpus()
    if asked.strip().isdigit() and int(asked) > 0:
        return int(asked)
    raise TileError(
        "E0807",
        f"TILE_NUM_THREADS is {asked!r}",
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
    return cache_folder("cpu")


def emulator_schedule() -> tuple[str, int]:
    """Order of threads and seed of emulated kernels: ``TILE_EMULATOR_SCHEDULE``, as `random:3`.

    Raises TileError E0807 for an order that there is not.
    """
    asked = text("TILE_EMULATOR_SCHEDULE") or "round-robin"
    name, _, seed = asked.partition(":")
    if name in ("round-robin", "reverse", "random") and (seed or "0").isdigit():
        return name, int(seed or 0)
    raise TileError(
        "E0807",
        f"TILE_EMULATOR_SCHEDULE is {asked!r}",
        help="Set it to round-robin, reverse, random, or random:SEED.",
    )
