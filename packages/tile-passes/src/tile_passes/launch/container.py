"""The file that a compiled function is: machine code, its host part, and what the compiler counted.

A zip archive without compression, so that any tool can look inside. Equal contents give equal
bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Archive", "Contents"]

HOST, USAGE = "host.py", "usage.json"
EPOCH = (1980, 1, 1, 0, 0, 0)
Usage = TypeVar("Usage", bound=Any)


@dataclass(frozen=True, kw_only=True)
class Contents(Generic[Usage]):
    """A compiled function, unpacked. `usage` is by kernel name."""

    code: bytes
    host: str
    usage: Mapping[str, Usage]


@dataclass(frozen=True, kw_only=True)
class Archive(Generic[Usage]):
    """A target's form of the file: what its code is called, and the class of a row of usage, a
    dataclass of plain values."""

    code: str
    usage: type[Usage]

    def pack(self, contents: Contents[Usage]) -> bytes:
        """The bytes of the archive."""
        usage = {name: asdict(row) for name, row in contents.usage.items()}
        room = io.BytesIO()
        with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED) as archive:
            for name, data in (
                (self.code, contents.code),
                (HOST, contents.host.encode()),
                (USAGE, json.dumps(usage, indent=1, sort_keys=True).encode()),
            ):
                archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
        return room.getvalue()

    def unpack(self, path: Path) -> Contents[Usage]:
        """Read an archive. Raises TileError E3007 where the file is damaged or no such archive."""
        try:
            with zipfile.ZipFile(path) as archive:
                usage = json.loads(archive.read(USAGE))
                return Contents(
                    code=archive.read(self.code),
                    host=archive.read(HOST).decode(),
                    usage={name: self.usage(**row) for name, row in usage.items()},
                )
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise TileError(
                "E3007",
                f"cannot read {path}",
                notes=(f"{type(error).__name__}: {error}",),
                help="The file is damaged: delete it and compile again.",
            ) from error
