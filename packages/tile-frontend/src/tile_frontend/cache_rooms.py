"""Folders in which cache entries are made, and the removal of what dead processes left.

A room is held by a lock on its folder for as long as its process lives; the system drops the lock
with the process, however it ends. Nobody ever waits for a lock: whoever cannot have one leaves the
matter to its owner. Where locks do not work (some network file systems) age decides.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["discard", "held", "room", "sweep"]

_OLD_S = 86_400.0
"""A room that cannot be locked belongs to nobody after this time; no build takes as long."""


@contextmanager
def held(folder: Path) -> Iterator[bool | None]:
    """Whether this process alone holds the folder, for as long as the context lasts; None where
    locks do not work."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield _locked(descriptor)
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool | None:
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def room(root: Path, name: str) -> Iterator[Path]:
    """A new folder for this process alone, removed in the end unless it was renamed.

    Between its making and its locking another process may take it for a dead one's and remove it;
    then another is made.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{name[:8]}-", dir=root))
        with held(folder):
            if not folder.exists():
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


def discard(folder: Path) -> None:
    """Remove an entry: under its name it is whole at one moment and gone at the next."""
    away = folder.with_name(f".{folder.name[:8]}-gone-{os.getpid()}-{time.monotonic_ns()}")
    try:
        os.rename(folder, away)
    except FileNotFoundError:
        return
    except OSError:
        away = folder
    shutil.rmtree(away, ignore_errors=True)


def sweep(root: Path) -> int:
    """Remove rooms whose processes have ended, and return how many there were."""
    found = 0
    for folder in root.glob(".*-*"):
        with held(folder) as ours, contextlib.suppress(OSError):
            if ours or (ours is None and time.time() - folder.stat().st_mtime > _OLD_S):
                shutil.rmtree(folder, ignore_errors=True)
                found += 1
    return found
