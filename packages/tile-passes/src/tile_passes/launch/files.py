"""Files that readers see complete or not at all.

Many processes share the cache folder: a reader must never see half a file, and two writers of one
name must not mix. Every file is written under a name of its own and then renamed.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from tile_ir.diag import TileError

__all__ = ["file_error", "write_atomically"]

STORAGE_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "the folder cannot be written",
    errno.EPERM: "the folder cannot be written",
}


def write_atomically(path: Path, data: bytes, code: str = "E3003") -> None:
    """Write `data` to `path` so that readers see the old file or the new one, never a part.

    Raises TileError `code` where the folder cannot be written or the disk is full.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise file_error(error, path, code) from error


def file_error(error: OSError, path: Path, code: str = "E3003") -> TileError:
    """The error `code` for an output that cannot be written: why, and where else to write."""
    reason = STORAGE_ERRORS.get(error.errno or 0, str(error))
    return TileError(
        code,
        f"cannot write {path}: {reason}",
        notes=(str(error),),
        help="Free space or write elsewhere; TILE_CACHE_DIR names the folder of compiled kernels.",
    )
