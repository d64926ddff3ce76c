"""The tuning database: SQLite, shared by processes, written seldom, read once per kernel and shape.

A choice is worth minutes of measuring, so none may be lost; and a kernel works without one, so
nothing here may stop it. Every write is one transaction with SQLite's own journal, which survives a
killed writer. What cannot be written is a warning, and stays in this process. A damaged file is
moved aside, not deleted; a damaged row counts as absent. Where two processes tuned the same, the
first row stands and both use it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import warnings
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from tile_tune import knobs
from tile_tune.configuration import Configuration
from tile_tune.identity import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tile_tune.trial import Trial

__all__ = ["Database", "DatabaseWarning", "Record", "warn"]

SCHEMA_VERSION = 1
BUSY_SECONDS = 10.0
"""How long a write waits for another process."""
KEY = ("kernel", "digest", "bucket", "target", "versions")
SCHEMA = """
CREATE TABLE IF NOT EXISTS choices (
    kernel TEXT, digest TEXT, bucket TEXT, target TEXT, versions TEXT,
    configuration TEXT NOT NULL, milliseconds REAL, low REAL, high REAL,
    provenance TEXT NOT NULL, checksum TEXT NOT NULL,
    PRIMARY KEY (digest, bucket, target, versions));
CREATE TABLE IF NOT EXISTS trials (
    digest TEXT, bucket TEXT, target TEXT, versions TEXT,
    configuration TEXT, status TEXT, milliseconds REAL, low REAL, high REAL, reason TEXT,
    PRIMARY KEY (digest, bucket, target, versions, configuration));
CREATE TABLE IF NOT EXISTS failures (
    digest TEXT, bucket TEXT, target TEXT, versions TEXT, job TEXT, reason TEXT,
    PRIMARY KEY (digest, bucket, target, versions, job));
"""
WHERE = "digest = ? AND bucket = ? AND target = ? AND versions = ?"

T = TypeVar("T")


class DatabaseWarning(UserWarning):
    """The database could not be used as it should; the kernel works all the same."""


def warn(code: str, text: str, level: int) -> None:
    """Warn with a code of the catalogue, in the name of the caller `level` frames up."""
    warnings.warn(f"warning[{code}]: {text}", DatabaseWarning, stacklevel=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A choice: the configuration, its time in milliseconds with bounds, and how it was found."""

    key: Key
    configuration: Configuration
    milliseconds: float
    low: float
    high: float
    provenance: Mapping[str, Any] = field(default_factory=dict)
    source: str = "database"

    def row(self) -> tuple[Any, ...]:
        """The values of its row, the checksum last."""
        key = tuple(getattr(self.key, name) for name in KEY)
        times = (self.milliseconds, self.low, self.high)
        facts = json.dumps(dict(self.provenance), sort_keys=True, default=str)
        values = (
            *key, self.configuration.to_json(), *map(float, times), facts,
        )  # fmt: skip
        return (*values, _checksum(values))


def _checksum(values: Sequence[Any]) -> str:
    return hashlib.sha256(repr(tuple(values)).encode()).hexdigest()[:16]


class Database:
    """The database in one file; `path` None is the one that the environment names."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else knobs.database_path()
        self._kept: dict[tuple[str, ...], Record] = {}
        """What could not be written."""

    # -- asking

    def find(self, key: Key) -> Record | None:
        """The choice for a key, or None."""
        kept = self._kept.get(_identity(key))
        if kept is not None or not self.path.exists():
            return kept
        rows = self._read(f"SELECT * FROM choices WHERE {WHERE}", _identity(key))
        return self._record(rows[0]) if rows else None

    def records(self) -> list[Record]:
        """Every choice, in the order of kernels and buckets."""
        rows = self._read("SELECT * FROM choices ORDER BY kernel, bucket, target", ())
        stored = [r for r in map(self._record, rows) if r is not None]
        return [*stored, *self._kept.values()]

    def trials(self, key: Key) -> list[tuple[Configuration, str, float | None, str]]:
        """What became of every candidate: configuration, status, milliseconds, reason."""
        query = (
            f"SELECT configuration, status, milliseconds, reason FROM trials WHERE {WHERE} "
            "ORDER BY milliseconds IS NULL, milliseconds"
        )
        rows = self._read(query, _identity(key))
        return [(Configuration.from_json(c), s, ms, why) for c, s, ms, why in rows]

    def failure(self, key: Key, job: str) -> str | None:
        """Why tuning failed in this job, or None."""
        rows = self._read(
            f"SELECT reason FROM failures WHERE {WHERE} AND job = ?", (*_identity(key), job)
        )
        return str(rows[0][0]) if rows else None

    # -- writing

    def record(
        self, made: Record, trials: Sequence[Trial] = (), replace_old: bool = False
    ) -> Record:
        """Store a choice, and return the one that stands: another process may have been faster.

        With `replace_old` the new one stands.
        """

        def write(connection: sqlite3.Connection) -> None:
            word = "REPLACE" if replace_old else "IGNORE"
            row = made.row()
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT OR {word} INTO choices VALUES ({marks})", row)
            connection.execute(f"DELETE FROM failures WHERE {WHERE}", _identity(made.key))
            rows = [_trial_row(made.key, t) for t in trials]
            connection.executemany(
                "INSERT OR REPLACE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )

        if not self._write(write):
            self._kept[_identity(made.key)] = made
            return made
        return self.find(made.key) or made

    def record_failure(self, key: Key, job: str, reason: str) -> None:
        """Tell the others of this job that there will be no choice."""
        row = (*_identity(key), job, reason)
        self._write(
            lambda c: c.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?)", row)
        )

    def forget(self, key: Key) -> None:
        """Drop a choice."""
        self._kept.pop(_identity(key), None)
        self._write(lambda c: c.execute(f"DELETE FROM choices WHERE {WHERE}", _identity(key)))

    # -- the file

    def _read(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        def ask() -> list[tuple[Any, ...]]:
            if not self.path.exists():
                return []
            try:
                # Writable, to roll back what a killed writer left in the journal.
                with self._opened(self._uri("rw")) as connection:
                    return connection.execute(query, values).fetchall()
            except sqlite3.OperationalError:
                with self._opened(self._uri("ro")) as connection:
                    return connection.execute(query, values).fetchall()

        try:
            return self._repaired(ask)
        except sqlite3.OperationalError as cause:
            if "no such table" not in str(cause):  # made by a writer that was killed at once
                self._warn("E2206", f"{self.path} cannot be read ({cause})")
            return []
        except _Newer as newer:
            self._warn("E2208", str(newer))
            return []

    def _write(self, write: Callable[[sqlite3.Connection], Any]) -> bool:
        """Whether it was written, in one transaction."""

        def attempt() -> None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened(self._uri("rwc")) as connection:
                # Nothing is lost when the machine stops: the file is synced before a commit ends.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                write(connection)
                connection.execute("COMMIT")

        try:
            self._repaired(attempt)
        except (sqlite3.Error, OSError) as cause:
            self._warn("E2206", f"{self.path} cannot be written ({cause})")
            return False
        except _Newer as newer:
            self._warn("E2208", str(newer))
            return False
        return True

    def _uri(self, mode: str) -> str:
        return f"{self.path.resolve().as_uri()}?mode={mode}"

    @contextmanager
    def _opened(self, uri: str) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        with closing(connection):
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found > SCHEMA_VERSION:
                raise _Newer(
                    f"{self.path} has version {found}, this tile-tune writes {SCHEMA_VERSION}"
                )
            yield connection

    def _repaired(self, action: Callable[[], T]) -> T:
        """Do it; on a damaged file once more, after it was moved aside."""
        try:
            return action()
        except sqlite3.DatabaseError as cause:
            if isinstance(cause, (sqlite3.OperationalError, sqlite3.IntegrityError)):
                raise
            self._move_aside(str(cause))
            return action()

    def _move_aside(self, why: str) -> None:
        with _locked(self.path.with_name(self.path.name + ".repair")):
            try:
                with self._opened(self._uri("ro")) as connection:
                    connection.execute("PRAGMA quick_check").fetchall()
                    connection.execute("SELECT count(*) FROM choices").fetchall()
            except sqlite3.OperationalError:
                return  # gone or begun anew: another process was faster
            except sqlite3.DatabaseError:
                aside = self.path.with_name(f"{self.path.name}.damaged-{int(time())}-{os.getpid()}")
                os.replace(self.path, aside)
                with suppress(OSError):
                    os.unlink(f"{self.path}-journal")
                self._warn("E2207", f"{self.path} is damaged ({why}); it was moved to {aside.name}")

    def _record(self, row: Sequence[Any]) -> Record | None:
        *values, checksum = row
        if _checksum(values) != checksum:
            self._warn("E2207", f"a row of {self.path} for {row[0]} is damaged; it is ignored")
            return None
        names = dict(zip(KEY, values, strict=False))
        configuration, ms, low, high, facts = values[len(KEY) :]
        return Record(
            key=Key(**names),
            configuration=Configuration.from_json(configuration),
            milliseconds=ms,
            low=low,
            high=high,
            provenance=json.loads(facts),
            source=str(self.path),
        )

    def _warn(self, code: str, text: str) -> None:
        warn(code, text, 5)


class _Newer(Exception):
    """The file was written by a newer version."""


def _identity(key: Key) -> tuple[str, ...]:
    return (key.digest, key.bucket, key.target, key.versions)


def _trial_row(key: Key, t: Trial) -> tuple[Any, ...]:
    i = t.interval if t.is_measured else None
    times = (None, None, None) if i is None else (i.median, i.low, i.high)
    return (*_identity(key), t.configuration.to_json(), t.status, *times, t.reason)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, where the system has one."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
