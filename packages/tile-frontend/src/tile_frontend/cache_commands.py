"""What people do with the cache: list it, look into an entry, prune it, carry it to another
machine.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend import cache, knobs
from tile_frontend.cache_index import META, Row, rows
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["entries", "entry", "export_entries", "import_entries", "prune"]

_KEY = re.compile(r"[0-9a-f]{40}\Z")


def entries(text: str = "") -> list[Row]:
    """The entries whose key begins with the text, or whose kernel or target contains it."""
    return [
        r for r in rows(knobs.cache_dir()) if r.key.startswith(text) or text in (r.name, r.target)
    ]


def entry(prefix: str) -> tuple[Row, dict[str, Any]]:
    """The entry whose key begins with `prefix`, and what is stored with it.

    Raises TileError E2103 for none or several.
    """
    found = [r for r in rows(knobs.cache_dir()) if r.key.startswith(prefix)]
    if len(found) != 1:
        raise TileError(
            "E2103",
            f"{len(found) or 'no'} cached kernels begin with {prefix!r}",
            help="`tile cache ls` lists them; give enough letters of one",
        )
    folder = knobs.cache_dir() / found[0].key
    return found[0], json.loads((folder / META).read_text("utf-8"))


def prune(keep_bytes: int) -> list[str]:
    """Remove the entries unused for longest until the rest takes at most so many bytes, and what
    dead processes left; return their keys."""
    before = {r.key for r in rows(knobs.cache_dir())}
    cache.trim(knobs.cache_dir(), keep_bytes)
    return sorted(before - {r.key for r in rows(knobs.cache_dir())})


def export_entries(file: Path, prefixes: Sequence[str] = ()) -> list[str]:
    """Write entries, all or those whose keys begin with one of `prefixes`, into a zip archive and
    return their keys."""
    chosen = [
        r.key for r in rows(knobs.cache_dir()) if not prefixes or r.key.startswith(tuple(prefixes))
    ]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for key in chosen:
            for path in sorted((knobs.cache_dir() / key).iterdir()):
                archive.write(path, f"{key}/{path.name}")
    return chosen


def import_entries(file: Path) -> list[str]:
    """Take over the entries of such an archive that are not here yet, each checked against its
    digests, and return their keys. The archive holds machine code: import what you trust.

    Raises TileError E2104 for a file that is no such archive.
    """
    taken = []
    try:
        with zipfile.ZipFile(file) as archive:
            by_key: dict[str, list[str]] = {}
            for name in archive.namelist():
                key, _, rest = name.partition("/")
                if not _KEY.match(key) or not rest or Path(rest).name != rest:
                    raise _no_archive(file, f"it holds {name!r}")
                by_key.setdefault(key, []).append(rest)
            for key, names in sorted(by_key.items()):
                if cache.find(key) is None:
                    _import(archive, key, names)
                    taken.append(key)
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as cause:
        raise _no_archive(file, str(cause)) from cause
    return taken


def _import(archive: zipfile.ZipFile, key: str, names: Sequence[str]) -> None:
    meta = json.loads(archive.read(f"{key}/{META}"))
    digests = meta.pop("files")
    if sorted(digests) != sorted(n for n in names if n != META):
        raise ValueError(f"{key} is not complete")

    def make(folder: Path) -> Any:
        for name, digest in digests.items():
            (folder / name).write_bytes(archive.read(f"{key}/{name}"))
            if cache.digest_of(folder / name) != digest:
                raise ValueError(f"{key}/{name} is not what was stored")
        return meta

    cache.build(key, make)


def _no_archive(file: Path, why: str) -> TileError:
    return TileError(
        "E2104",
        f"{file} is no archive of cached kernels: {why}",
        help="`tile cache export FILE` writes one",
    )
