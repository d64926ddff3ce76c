"""The version of the IR and which texts this package can read.

The `tile` stage is versioned by itself and promised for the life of a major version: every older
minor is read. The later stages change with the compiler, so their text names the package version
and other versions are refused.
"""

from __future__ import annotations

from tile_ir._version import __version__
from tile_ir.core import Stage
from tile_ir.diag import TileError

SCHEMA_VERSION = (1, 0)
"""Major and minor of the `tile` stage that this package writes."""


def header(stage: Stage) -> str:
    """The first line of a text at `stage`."""
    if stage is Stage.TILE:
        return f"tile.ir {SCHEMA_VERSION[0]}.{SCHEMA_VERSION[1]} tile"
    return f"tile.ir {stage.value} (tile-ir {__version__})"


def check_schema(version: tuple[int, int]) -> None:
    """Refuse a `tile` text of another major, or of a newer minor.

    Raises:
        TileError: E0002.
    """
    if version[0] == SCHEMA_VERSION[0] and version <= SCHEMA_VERSION:
        return
    ours = f"{SCHEMA_VERSION[0]}.{SCHEMA_VERSION[1]}"
    raise TileError(
        "E0002",
        f"this text has version {version[0]}.{version[1]}, tile-ir {__version__} reads {ours}",
        notes=("older minors of the same major are read, newer ones and other majors are not",),
        help="install the tile-ir that wrote it, or newer",
    )


def check_package(stage: Stage, version: str) -> None:
    """Refuse a `scheduled` or `simt` text of another package version.

    Raises:
        TileError: E0002.
    """
    if version == __version__:
        return
    raise TileError(
        "E0002",
        f"this {stage.value} text is of tile-ir {version}, this is tile-ir {__version__}",
        notes=("only the tile stage keeps its meaning between versions",),
        help=f"make it anew from the tile stage, or install tile-ir {version}",
    )
