"""Environment settings of the tuner, read in one place and typed; each is read anew when needed."""

from __future__ import annotations

import os
from pathlib import Path

from tile_frontend import knobs as frontend
from tile_ir.diag import TileError

__all__ = ["MODES", "database_path", "job", "mode", "rank", "tables", "wait_seconds"]

MODES = ("off", "cached", "on")
RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
"""Variables in which launchers tell a process its number and how many there are."""
JOBS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "OMPI_MCA_ess_base_jobid", "MASTER_PORT")


def mode() -> str:
    """``TILE_TUNE``: off uses the kernels' own defaults, cached what is stored, on (the default)
    tunes what is not stored yet. Raises `TileError` E2205 for anything else."""
    found = os.environ.get("TILE_TUNE", "on").lower() or "on"
    if found not in MODES:
        raise TileError("E2205", f"TILE_TUNE={found}", help=f"it is one of {', '.join(MODES)}")
    return found


def database_path() -> Path:
    """``TILE_TUNE_DATABASE``, else tuning.sqlite3 beside the folder of compiled kernels."""
    chosen = os.environ.get("TILE_TUNE_DATABASE")
    if chosen:
        return Path(chosen).expanduser()
    return frontend.cache_dir().parent / "tuning.sqlite3"


def tables() -> tuple[str, ...]:
    """``TILE_TUNE_TABLES``: tables to look into after the database, separated as in PATH."""
    return tuple(t for t in os.environ.get("TILE_TUNE_TABLES", "").split(os.pathsep) if t)


def wait_seconds() -> float:
    """``TILE_TUNE_WAIT``: how long the other ranks wait for rank 0 (default 1800)."""
    text = os.environ.get("TILE_TUNE_WAIT", "")
    try:
        return float(text) if text else 1800.0
    except ValueError:
        raise TileError(
            "E2205", f"TILE_TUNE_WAIT={text}", help="give a number of seconds"
        ) from None


def rank() -> int | None:
    """The number of this process among those of its job; None where it is alone."""
    for number, count in RANKS:
        mine, all_ = os.environ.get(number, ""), os.environ.get(count, "")
        if mine.isdigit() and all_.isdigit() and int(all_) > 1:
            return int(mine)
    return None


def job() -> str:
    """What tells this job from earlier ones, as far as the launcher says."""
    return " ".join(os.environ.get(name, "") for name in JOBS).strip()
