"""Tuned choices as YAML: to be reviewed, kept in version control, and shipped with a package.

A table is found by kernel, bucket and target; versions are written down and not compared, for
whoever ships a table stands by it. An entry without a digest goes by the kernel's name alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_ir.plugin import resolve
from tile_tune.configuration import Configuration
from tile_tune.database import Database, Record
from tile_tune.identity import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.plugin import TargetManifest

__all__ = ["FORMAT", "Table", "export_table", "import_table", "shipped"]

FORMAT = 1
_MALFORMED = (AttributeError, KeyError, TypeError, ValueError, TileError)
"""What reading an entry of another form raises."""
HEADER = """\
# Tuned configurations. `parameters` are arguments of the kernel function, `plan` pins decisions of
# the compiler; times are medians in milliseconds with the bounds of their interval.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of one file, for reading."""

    name: str
    records: tuple[Record, ...]

    @classmethod
    def load(cls, place: str | Path) -> Table:
        """Read a table: a path, or "package:folder/file.yaml" inside an installed package.

        Raises `TileError` E2210 when it cannot be read or is malformed.
        """
        text = _text(str(place))
        import yaml

        try:
            # The fast reader, where PyYAML was built with it: a call waits for this.
            data = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            if data["tile-tune"] != FORMAT:
                raise ValueError(f"its format is {data['tile-tune']!r}, expected {FORMAT}")
            records = tuple(_record(entry, str(place)) for entry in data["entries"])
        except (*_MALFORMED, yaml.YAMLError) as cause:
            missing = isinstance(cause, KeyError)
            why = f"{cause} is missing" if missing else str(cause)
            raise _malformed(str(place), why) from cause
        return cls(str(place), records)

    def find(self, key: Key) -> Record | None:
        """The entry for a key, whatever its versions."""
        for r in self.records:
            same = r.key.digest == key.digest or (not r.key.digest and r.key.kernel == key.kernel)
            if same and r.key.bucket == key.bucket and r.key.target == key.target:
                return r
        return None


def shipped(manifest: TargetManifest) -> tuple[Path, ...]:
    """The tables that come with a target, for its devices."""
    if manifest.tables is None:
        return ()
    folder: Path = resolve(manifest.tables)()
    return tuple(sorted(folder.glob("*.yaml")))


def export_table(
    path: str | Path,
    database: Database | None = None,
    wanted: Callable[[Record], bool] = lambda record: True,
) -> int:
    """Write the choices of a database (those that are `wanted`) as a table; how many there are."""
    import yaml

    records = [r for r in (database or Database()).records() if wanted(r)]
    data = {"tile-tune": FORMAT, "entries": [_entry(r) for r in records]}
    # A mapping of plain values stands on one line: an entry is read at one glance.
    text = yaml.safe_dump(
        data, sort_keys=False, width=100, allow_unicode=True, default_flow_style=None
    )
    Path(path).write_text(HEADER + text, "utf-8")
    return len(records)


def import_table(
    path: str | Path, database: Database | None = None, replace_old: bool = False
) -> int:
    """Store the entries of a table in a database; how many there are. Older choices stay, unless
    `replace_old`. Raises as `Table.load`."""
    into = database or Database()
    found: Sequence[Record] = Table.load(path).records
    for record in found:
        into.record(record, replace_old=replace_old)
    return len(found)


def _entry(r: Record) -> dict[str, Any]:
    return {
        "kernel": r.key.kernel,
        "digest": r.key.digest,
        "bucket": r.key.bucket,
        "target": r.key.target,
        "parameters": _plain(r.configuration.arguments),
        "plan": _plain(r.configuration.plan),
        "milliseconds": r.milliseconds,
        "interval": [r.low, r.high],
        "versions": json.loads(r.key.versions),
        "provenance": dict(r.provenance),
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Tuples as lists, which YAML has."""
    made: dict[str, Any] = json.loads(json.dumps(values))
    return made


def _record(entry: dict[str, Any], place: str) -> Record:
    low, high = entry.get("interval", (entry["milliseconds"], entry["milliseconds"]))
    return Record(
        key=Key(
            kernel=str(entry["kernel"]),
            digest=str(entry.get("digest", "")),
            bucket=str(entry["bucket"]),
            target=str(entry["target"]),
            versions=json.dumps(entry.get("versions", {}), sort_keys=True),
        ),
        configuration=Configuration.of(entry["parameters"], entry.get("plan")),
        milliseconds=float(entry["milliseconds"]),
        low=float(low),
        high=float(high),
        provenance=entry.get("provenance", {}),
        source=place,
    )


def _text(place: str) -> str:
    package, _, inside = place.partition(":")
    try:
        if inside and not Path(place).exists() and package.replace(".", "_").isidentifier():
            return (files(package) / inside).read_text("utf-8")
        return Path(place).read_text("utf-8")
    except (OSError, ImportError) as cause:
        raise _malformed(place, str(cause)) from cause


def _malformed(place: str, why: str) -> TileError:
    return TileError(
        "E2210",
        f"the tuning table {place} cannot be used",
        notes=(why,),
        help="compare it with what tile_tune.export_table writes",
    )
