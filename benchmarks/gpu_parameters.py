"""The table of tile parameters: what a kernel is built with on a device, by case."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).parent / "parameters" / "h200.yaml"

Pins = tuple[tuple[str, Any], ...]
"""Decisions of the Plan and what they are pinned to."""


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return found


def parameters(kernel: str, *keys: str) -> dict[str, Any]:
    """The tile parameters of a kernel for a case: its entries in the table, over the default."""
    table = _table()[kernel]
    found = dict(table["default"])
    for key in keys:
        found |= table.get(key, {})
    return found


def split(found: dict[str, Any]) -> tuple[Pins, dict[str, Any]]:
    """Pinned decisions of the Plan, and the parameters of the program."""
    pins = found.get("plan", {}).items()
    listed = tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in pins)
    return listed, {k: v for k, v in found.items() if k != "plan"}
