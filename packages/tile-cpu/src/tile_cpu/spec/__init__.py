"""Descriptions of CPUs: one YAML file for each architecture, and which one fits this machine."""

from __future__ import annotations

from pathlib import Path

from tile_ir.descriptions import Descriptions

__all__ = ["folder", "load", "names"]

_DESCRIPTIONS = Descriptions(folder=Path(__file__).parent, device="CPU")
names, load = _DESCRIPTIONS.names, _DESCRIPTIONS.load


def folder() -> Path:
    """The folder that holds the descriptions."""
    return _DESCRIPTIONS.folder
