"""Ranks of one job use one choice: rank 0 finds it, the others take it from the database.

Ranks that chose by themselves would each pick what was fastest in their own noise, and sums in
another order give other last bits. So a rank that gets no choice in time stops with an error; it
does not pick one.
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_tune import knobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_tune.database import Database, Record
    from tile_tune.identity import Key

__all__ = ["agreed"]

POLL_SECONDS = 0.25


def agreed(
    database: Database,
    key: Key,
    tune: Callable[[], Record],
    refused: Record | None = None,
) -> Record:
    """The choice of the job: found by `tune` in rank 0 (or where there are no ranks) and awaited by
    the others, which do not take what is `refused`.

    Raises what `tune` raises; in other ranks `TileError` E2209 when it failed, or took longer than
    TILE_TUNE_WAIT.
    """
    rank = knobs.rank()
    if rank is None:
        return tune()
    if rank > 0:
        return _awaited(database, key, rank, refused)
    try:
        return tune()
    except BaseException as error:  # whatever ends it, the others need not wait
        database.record_failure(key, knobs.job(), _said(error))
        raise


def _said(error: BaseException) -> str:
    if isinstance(error, TileError):
        return f"{error.code}: {error.message}"
    return f"{type(error).__name__}: {error}"


def _awaited(database: Database, key: Key, rank: int, refused: Record | None) -> Record:
    patience = knobs.wait_seconds()
    end = monotonic() + patience
    why = f"rank 0 stored nothing within {patience:g} s"
    while monotonic() < end:
        found = database.find(key)
        if found is not None and found != refused:
            return found
        failure = database.failure(key, knobs.job())
        if failure is not None:
            why = f"tuning failed in rank 0: {failure}"
            break
        sleep(POLL_SECONDS)
    raise TileError(
        "E2209",
        f"rank {rank} has no choice for {key.kernel} ({key.bucket})",
        notes=(why, f"the database is {database.path}"),
        help="let TILE_TUNE_DATABASE name a file that all ranks see, raise TILE_TUNE_WAIT, or tune "
        "beforehand and set TILE_TUNE=cached",
    )
