"""Compiled kernels on disk: content-addressed, complete or absent, checked when read, bounded in
size.

An entry is a folder named by the key. It is built under another name and renamed, so processes that
race for one key each see a whole entry. Where nothing can be written, kernels are built in a folder
of this process and a warning says so.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import knobs
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_META = "entry.json"
_UNWRITABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}
)


class CacheWarning(UserWarning):
    """The cache on disk could not be used; the kernel works all the same."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A built kernel: its folder, and what was stored beside its files."""

    folder: Path
    meta: Mapping[str, Any]

    def file(self, name: str) -> Path:
        """A file of the entry."""
        return self.folder / name


def key_of(*parts: str) -> str:
    """The name of an entry: a digest of everything that it depends on."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]


def find(key: str) -> Entry | None:
    """The entry of that key, or None.

    A damaged one is removed with a warning and counts as absent.
    """
    if knobs.cache_disabled():
        return None
    folder = knobs.cache_dir() / key
    try:
        meta = json.loads((folder / _META).read_text("utf-8"))
        for name, digest in meta["files"].items():
            if _digest(folder / name) != digest:
                raise ValueError(f"{name} is not what was stored")
        _touch(folder / _META)
        return Entry(folder, meta)
    except FileNotFoundError:
        if not folder.exists():
            return None
        reason = "a file is missing"
    except NotADirectoryError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as cause:
        reason = str(cause)
    _warn("E2102", f"the cached kernel {folder} is damaged ({reason}); it is built anew")
    shutil.rmtree(folder, ignore_errors=True)
    return None


def build(key: str, make: Callable[[Path], Mapping[str, Any]]) -> Entry:
    """Have `make` fill a folder and return the entry's meta data; then put the folder in place.

    Where the cache cannot be written the entry lives in a folder of this process. Errors of `make`
    pass through.
    """
    if not knobs.cache_disabled():
        try:
            return _build_in(knobs.cache_dir(), key, make)
        except OSError as cause:
            if cause.errno not in _UNWRITABLE:
                raise
            reason = cause.strerror
        except TileError as error:
            if not _storage_failed(error):
                raise
            reason = error.message
        _warn("E2101", f"kernels cannot be kept in {knobs.cache_dir()} ({reason})")
    return _build_in(_process_folder(), key, make)


def drop(entry: Entry) -> None:
    """Remove an entry that turned out to be useless."""
    shutil.rmtree(entry.folder, ignore_errors=True)


def _storage_failed(error: BaseException) -> bool:
    """Whether a toolchain's error comes from a folder that cannot be written or a full disk."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _UNWRITABLE | {None}


def _build_in(root: Path, key: str, make: Callable[[Path], Mapping[str, Any]]) -> Entry:
    root.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{key[:8]}-", dir=root))
    try:
        meta = dict(make(room))
        meta["files"] = {p.name: _digest(p) for p in sorted(room.iterdir()) if p.is_file()}
        (room / _META).write_text(json.dumps(meta), "utf-8")
        folder = root / key
        _put(room, folder)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    _trim(root, keep=folder)
    return Entry(folder, meta)


def _put(room: Path, folder: Path) -> None:
    try:
        os.rename(room, folder)
    except OSError:
        # Another process was faster; equal keys mean equal contents.
        if not (folder / _META).exists():
            raise


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # a read-only cache keeps no record of use


def _trim(root: Path, keep: Path) -> None:
    """Drop the entries that were not used for longest until the rest fits the limit."""
    entries = []
    for meta in root.glob(f"*/{_META}"):
        try:
            size = sum(p.stat().st_size for p in meta.parent.iterdir())
            entries.append((meta.stat().st_mtime, size, meta.parent))
        except OSError:
            continue
    total = sum(size for _, size, _ in entries)
    for _, size, folder in sorted(entries):
        if total <= knobs.cache_limit_bytes():
            return
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size


@cache
def _process_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tile-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _warn(code: str, text: str) -> None:
    warnings.warn(f"warning[{code}]: {text}", CacheWarning, stacklevel=2)
