"""Compiled kernels on disk: content-addressed, complete or absent, checked when read, bounded in
size.

An entry is a folder named by the key. It is built under another name and renamed, and renamed again
to be removed, so processes that race for one key each see a whole entry or none. Nobody waits for
anybody. Where nothing can be written, kernels are built in a folder of this process and a warning
says so.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import cache_index, knobs
from tile_frontend.cache_index import META
from tile_frontend.cache_rooms import discard, held, room, sweep
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_UNWRITABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}
)


_ATTEMPTS = 3


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
    for _ in range(_ATTEMPTS):
        reason = _unreadable(folder)
        if isinstance(reason, Entry):
            return reason
        if reason is None or not folder.exists():
            return None
        # It may have been removed and made anew while we looked: look again.
    _warn("E2102", f"the cached kernel {folder} is damaged ({reason}); it is built anew")
    discard(folder)
    return None


def _unreadable(folder: Path) -> Entry | str | None:
    """The entry; what is wrong with it; or None where there is none."""
    try:
        meta = json.loads((folder / META).read_text("utf-8"))
        for name, digest in meta["files"].items():
            if digest_of(folder / name) != digest:
                raise ValueError(f"{name} is not what was stored")
        _touch(folder / META)
        return Entry(folder, meta)
    except FileNotFoundError:
        return "a file is missing"
    except NotADirectoryError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as cause:
        return str(cause)


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
    discard(entry.folder)
    cache_index.forget(entry.folder.parent, entry.folder.name)


def _storage_failed(error: BaseException) -> bool:
    """Whether a toolchain's error comes from a folder that cannot be written or a full disk."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in _UNWRITABLE | {None}


def _build_in(root: Path, key: str, make: Callable[[Path], Mapping[str, Any]]) -> Entry:
    root.mkdir(parents=True, exist_ok=True)
    with room(root, key) as made:
        meta = dict(make(made))
        meta["files"] = {p.name: digest_of(p) for p in sorted(made.iterdir()) if p.is_file()}
        (made / META).write_text(json.dumps(meta), "utf-8")
        folder = root / key
        _put(made, folder)
    if root == knobs.cache_dir():
        cache_index.add(folder)
        trim(root, knobs.cache_limit_bytes(), keep=folder)
    return Entry(folder, meta)


def _put(made: Path, folder: Path) -> None:
    for last in (False, False, True):
        try:
            os.rename(made, folder)
        except OSError:
            # Another process was faster; equal keys mean equal contents. Its entry may be removed
            # between our attempt and our look at it: then there is room for ours.
            if (folder / META).exists():
                return
            if last:
                raise
        else:
            return


def digest_of(path: Path) -> str:
    """The digest of a file's contents."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # a read-only cache keeps no record of use


def trim(root: Path, limit: int, keep: Path | None = None) -> None:
    """Drop the entries that were not used for longest until the rest fits the limit in bytes, and
    what dead processes left. Where another process is at it, it is left to that one."""
    sweep(root)
    if cache_index.total_bytes(root) <= limit:
        return
    with held(root) as ours:
        if ours is not False:
            _drop_oldest(root, limit, keep)


def _drop_oldest(root: Path, limit: int, keep: Path | None) -> None:
    found = cache_index.rows(root)
    total = sum(row.bytes for row in found)
    for row in sorted(found, key=lambda row: _used(root / row.key)):
        if total <= limit:
            return
        if root / row.key != keep:
            discard(root / row.key)
            cache_index.forget(root, row.key)
            total -= row.bytes


def _used(folder: Path) -> float:
    """When an entry was last found, in seconds; a time to come (the clock was set back) counts as
    long ago, since it says nothing."""
    try:
        used = (folder / META).stat().st_mtime
    except OSError:
        return 0.0
    return used if used <= time.time() + 60 else 0.0


@cache
def _process_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tile-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _warn(code: str, text: str) -> None:
    warnings.warn(f"warning[{code}]: {text}", CacheWarning, stacklevel=2)
