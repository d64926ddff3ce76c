"""Tuned configurations for GPUs: one YAML file for each device, as the tuner writes them.

An entry goes by the text of its kernel: it serves the programs of the cookbook, and copies of them.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """The folder that holds the tables."""
    return Path(__file__).parent
