"""What is in the cache, in one SQLite file beside it, so that nobody has to look into every folder.

The folders are the truth: the index says what they hold and how large they are, and is made anew
from them when it is lost, damaged or from another version. An index that cannot be used costs time,
never a kernel.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["META", "Row", "add", "forget", "path_of", "rows", "total_bytes"]

META = "entry.json"
_VERSION = 1
_WAIT_S = 10.0
"""How long a process waits for another's write; each takes a fraction of a millisecond."""


@dataclass(frozen=True, slots=True)
class Row:
    """One entry: its key, the kernel's name, its target, its size in bytes, when it was made (in
    seconds since 1970) and how many seconds that took."""

    key: str
    name: str
    target: str
    bytes: int
    made: float
    seconds: float

    @classmethod
    def of(cls, folder: Path) -> Row:
        """Read an entry's folder. Raises OSError or ValueError for one that is none."""
        meta: dict[str, Any] = json.loads((folder / META).read_text("utf-8"))
        size = sum(p.stat().st_size for p in folder.iterdir())
        made = folder.stat().st_mtime
        name, target = str(meta.get("name", "")), str(meta.get("target", ""))
        return cls(folder.name, name, target, size, made, float(meta.get("seconds", 0.0)))


_COLUMNS = ", ".join(f.name for f in fields(Row))


def path_of(root: Path) -> Path:
    """The index of the cache in this folder."""
    return root.with_name(f"{root.name}.sqlite")


@contextmanager
def _open(root: Path) -> Iterator[sqlite3.Connection]:
    """The index, made where there is none, filled from the folders where it is new."""
    connection = sqlite3.connect(path_of(root), timeout=_WAIT_S, isolation_level=None)
    with closing(connection):
        # Nothing here is worth a wait for the disk: a lost write is found again in the folders.
        connection.execute("PRAGMA synchronous = OFF")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            _fill(connection, root)
        yield connection


def _fill(connection: sqlite3.Connection, root: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DROP TABLE IF EXISTS entry")
    connection.execute(f"CREATE TABLE entry ({_COLUMNS}, PRIMARY KEY (key))")
    _insert(connection, _on_disk(root).values())
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def _insert(connection: sqlite3.Connection, found: Any) -> None:
    marks = ", ".join("?" * len(fields(Row)))
    values = [astuple(row) for row in found]
    connection.executemany(f"INSERT OR REPLACE INTO entry ({_COLUMNS}) VALUES ({marks})", values)


def _on_disk(root: Path) -> dict[str, Row]:
    found = {}
    for meta in root.glob(f"[!.]*/{META}"):
        with contextlib.suppress(OSError, ValueError):
            found[meta.parent.name] = Row.of(meta.parent)
    return found


def _attempt(root: Path, action: Any) -> Any:
    """The action's result on the index; None where it cannot be used. A damaged one is made anew,
    once."""
    for last in (False, True):
        try:
            with _open(root) as connection:
                return action(connection)
        except sqlite3.OperationalError:
            return None  # locked for too long, read-only, a full disk
        except sqlite3.DatabaseError:
            if last:
                return None
            with contextlib.suppress(OSError):
                path_of(root).unlink()
    return None


def add(folder: Path) -> None:
    """Enter an entry's folder."""
    with contextlib.suppress(OSError, ValueError):
        row = Row.of(folder)
        _attempt(folder.parent, lambda connection: _insert(connection, [row]))


def forget(root: Path, key: str) -> None:
    """Take an entry out."""
    _attempt(root, lambda c: c.execute("DELETE FROM entry WHERE key = ?", (key,)).rowcount)


def total_bytes(root: Path) -> int:
    """The size of all entries, as far as the index knows."""
    found = _attempt(root, lambda c: c.execute("SELECT SUM(bytes) FROM entry").fetchone()[0])
    return sum(r.bytes for r in _on_disk(root).values()) if found is None else int(found)


def rows(root: Path) -> list[Row]:
    """Every entry, as the folders have them; the index is brought up to date where it differs."""
    disk = _on_disk(root)

    def reconcile(connection: sqlite3.Connection) -> None:
        known = {r[0]: Row(*r) for r in connection.execute(f"SELECT {_COLUMNS} FROM entry")}
        _insert(connection, [row for key, row in disk.items() if known.get(key) != row])
        gone = [(key,) for key in known if key not in disk]
        connection.executemany("DELETE FROM entry WHERE key = ?", gone)

    _attempt(root, reconcile)
    return sorted(disk.values(), key=lambda r: (r.name, r.target, r.key))
