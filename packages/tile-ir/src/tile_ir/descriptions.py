"""The folder in which a target keeps its descriptions: which there are, and reading one by name.

Apart from `tile_ir.target`, whose reader of YAML is needed only once a description is: a target can
be listed without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tile_ir.target import TargetSpec

__all__ = ["Descriptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptions:
    """One YAML file for each architecture.

    `device` is what the sentence calls one of them; `order` gives the key by which names are
    sorted, where that is not the alphabet's.
    """

    folder: Path
    device: str
    order: Callable[[str], Any] = str

    def names(self) -> tuple[str, ...]:
        """Architectures that have a description, in the target's order."""
        return tuple(sorted((path.stem for path in self.folder.glob("*.yaml")), key=self.order))

    def load(self, arch: str) -> TargetSpec:
        """The description of `arch`; TileError E0916 where there is none of that name."""
        from tile_ir.target import load_spec  # the YAML reader is needed only from here on

        if arch not in self.names():
            known = ", ".join(self.names())
            message = f"no {self.device} is called {arch!r}"
            raise TileError("E0916", message, help=f"described are {known}")
        return load_spec(self.folder / f"{arch}.yaml")
