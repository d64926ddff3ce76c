"""Write files that are either complete or not there.

Many processes share the cache folder: a reader must never see half a library, and two writers of
one name must not mix. Every file is written under a name of its own and then renamed.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tile_cpu.compiler_errors import file_error

__all__ = ["write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that readers see the old file or the new one, never a part.

    Raises TileError E0803 where the folder cannot be written or the disk is full.
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
        raise file_error(error, path) from error
