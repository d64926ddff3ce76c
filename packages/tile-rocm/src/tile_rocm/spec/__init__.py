"""Descriptions of GPUs: one YAML file for each architecture."""

from __future__ import annotations

from pathlib import Path

from tile_ir.descriptions import Descriptions

__all__ = ["folder", "load", "names"]

_DESCRIPTIONS = Descriptions(
    folder=Path(__file__).parent,
    device="GPU",
    order=lambda name: int(name.removeprefix("gfx"), 16),
)
names, load = _DESCRIPTIONS.names, _DESCRIPTIONS.load


def folder() -> Path:
    """The folder that holds the descriptions."""
    return _DESCRIPTIONS.folder
