"""The version of the IR, which texts this package can read, and what older ones mean today.

The `tile` stage is versioned by itself and promised for the life of a major version: every older
minor is read, and what it says is brought up to date while it is read. A text names the first
version that has all it uses, so programs that use nothing new stay readable to older packages. The
later stages change with the compiler, so their text names the package version and other versions
are refused.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tile_ir._version import __version__
from tile_ir.core import Stage
from tile_ir.diag import TileError
from tile_ir.opdef import changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.opdef import OpDef, Version

SCHEMA_VERSION = (1, 1)
"""Major and minor of the `tile` stage that this package knows."""

RELEASES: Mapping[Version, str] = MappingProxyType({(1, 0): "0.1", (1, 1): "0.1"})
"""Version of the `tile` stage -> the first release of tile-ir that reads it."""

NEWER_WORDS: Mapping[str, Version] = MappingProxyType({})
"""Functions, element types, scopes and values of attributes that came after 1.0 -> since when. Ops
and attributes say it where they are declared."""

_WORD = re.compile(r"[A-Za-z_]\w*")


def header(stage: Stage, version: Version | None = None) -> str:
    """The first line of a text at `stage`; at stage `tile` of a version, by default the newest."""
    if stage is Stage.TILE:
        major, minor = SCHEMA_VERSION if version is None else version
        return f"tile.ir {major}.{minor} tile"
    return f"tile.ir {stage.value} (tile-ir {__version__})"


def words_version(text: str) -> Version:
    """The first version that has all words of a text: a name of the user's may count as one, and
    then the version is newer than it had to be."""
    first = (SCHEMA_VERSION[0], 0)
    if not NEWER_WORDS:
        return first
    return max((NEWER_WORDS.get(w, first) for w in _WORD.findall(text)), default=first)


def upgraded(op: OpDef, values: dict[str, Any], version: Version) -> dict[str, Any]:
    """The fields of a statement as they are meant today, from those that a text of an older version
    gave: values that it left out and that meant something else then, and what the op's own upgrades
    say."""
    out = dict(values)
    for f in op.fields:
        before = changes(f).before
        if before is not None and version < before[0] and f.name not in out:
            out[f.name] = before[1]
    for since, upgrade in op.upgrades:
        if version < since:
            out = upgrade(out)
    return out


def check_schema(version: Version) -> None:
    """Refuse a `tile` text of another major, or of a newer minor.

    Raises:
        TileError: E0002, which names the release that reads the text.
    """
    if version[0] == SCHEMA_VERSION[0] and version <= SCHEMA_VERSION:
        return
    ours = f"{SCHEMA_VERSION[0]}.{SCHEMA_VERSION[1]}"
    raise TileError(
        "E0002",
        f"this text has version {version[0]}.{version[1]}, tile-ir {__version__} reads {ours}",
        notes=("older minors of the same major are read, newer ones and other majors are not",),
        help=_release_for(version),
    )


def _release_for(version: Version) -> str:
    known = RELEASES.get(version)
    if known is not None:
        return f"install tile-ir {known}, which reads it"
    if version > SCHEMA_VERSION:
        return f"install a tile-ir newer than {__version__}: `pip install --upgrade tile-ir`"
    return "write the text anew with this package: no release of tile-ir ever read that version"


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
