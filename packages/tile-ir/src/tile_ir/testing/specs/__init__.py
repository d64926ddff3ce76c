"""Three invented architectures, so that neutral passes are tested without any vendor's.

`async` has a copy engine that completes by barrier transactions and an asynchronous matrix engine;
`sync` counts groups of copies and multiplies synchronously; on `plain` nothing copies while threads
compute.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tile_ir.target import TargetSpec

__all__ = ["toy_folder", "toy_spec"]


def toy_folder() -> Path:
    """Return the folder of the descriptions, as a target manifest's `specs` does."""
    return Path(__file__).parent


def toy_spec(arch: Literal["async", "sync", "plain"]) -> TargetSpec:
    """Return the description of one of them."""
    from tile_ir.target import load_spec

    return load_spec(toy_folder() / f"{arch}-toy.yaml")
