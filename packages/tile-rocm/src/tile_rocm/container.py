"""The file that a compiled function is: machine code, its host part, and what the compiler counted.

A zip archive without compression, so that any tool can look inside. Equal contents give equal
bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Contents", "KernelUsage", "pack", "unpack"]

CODE, HOST, USAGE = "kernel.co", "host.py", "usage.json"
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUsage:
    """What one kernel takes: 32-bit registers of a thread (with those for accumulators, which are
    also counted by themselves) and of a wave; bytes of shared memory of a block and of a thread's
    stack; registers kept in memory."""

    vector_registers: int
    accumulator_registers: int
    scalar_registers: int
    shared: int
    stack: int
    vector_spills: int
    scalar_spills: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A compiled function, unpacked. `usage` is by kernel name."""

    code: bytes
    host: str
    usage: Mapping[str, KernelUsage]


def pack(contents: Contents) -> bytes:
    """The bytes of the archive."""
    usage = {name: asdict(row) for name, row in contents.usage.items()}
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (
            (CODE, contents.code),
            (HOST, contents.host.encode()),
            (USAGE, json.dumps(usage, indent=1, sort_keys=True).encode()),
        ):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
    return room.getvalue()


def unpack(path: Path) -> Contents:
    """Read an archive. Raises TileError E3007 where the file is damaged or no such archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            usage = json.loads(archive.read(USAGE))
            return Contents(
                code=archive.read(CODE),
                host=archive.read(HOST).decode(),
                usage={name: KernelUsage(**row) for name, row in usage.items()},
            )
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise TileError(
            "E3007",
            f"cannot read {path}",
            notes=(f"{type(error).__name__}: {error}",),
            help="The file is damaged: delete it and compile again.",
        ) from error
