"""Names that the language has for one family of devices, each in the dialect of an installed
package: `T.name` looks it up there.

Nothing here knows which packages there are. A name that none of them has, although a package is
known to bring it, is refused with that package's name (`refused.txt`).
"""

from __future__ import annotations

from typing import Any

from tile_ir.plugin import DialectManifest, discover, load, resolve

__all__ = ["dialect_names", "from_dialect"]


def _manifests() -> list[DialectManifest]:
    return [load("tile.dialects", entry.name) for entry in discover("tile.dialects")]


def dialect_names() -> tuple[str, ...]:
    """Every name that an installed dialect has.

    Raises `PluginError` E0903 for a dialect that cannot be loaded.
    """
    return tuple(sorted({name for manifest in _manifests() for name in manifest.names}))


def from_dialect(name: str) -> Any:
    """What an installed dialect has under a name; None where no dialect has it.

    Raises `PluginError` E0903 for a dialect that cannot be loaded.
    """
    for manifest in _manifests():
        if name in manifest.names:
            return resolve(manifest.lookup)(name)
    return None
