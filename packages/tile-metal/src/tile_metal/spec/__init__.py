"""Descriptions of GPUs: one YAML file for each family, and which one runs on a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_ir.target import TargetSpec

__all__ = ["folder", "load", "names"]


def folder() -> Path:
    """The folder that holds the descriptions."""
    return Path(__file__).parent


def names() -> tuple[str, ...]:
    """Families that have a description, in order."""
    found = (path.stem for path in folder().glob("*.yaml"))
    return tuple(sorted(found, key=lambda name: int(name.removeprefix("apple"))))


def load(arch: str) -> TargetSpec:
    """The description of `arch`; TileError E0916 where there is none of that name."""
    from tile_ir.target import load_spec  # the YAML reader is needed only from here on

    if arch not in names():
        known = ", ".join(names())
        raise TileError("E0916", f"no GPU is called {arch!r}", help=f"described are {known}")
    return load_spec(folder() / f"{arch}.yaml")
