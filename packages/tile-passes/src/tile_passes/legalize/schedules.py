"""Loops whose schedule the user wrote out, statement by statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import For
from tile_ir.rewrite import walk

if TYPE_CHECKING:
    from tile_ir.core import Function


def scheduled_by_hand(fn: Function) -> bool:
    """Whether a loop has an explicit order or stage: its statements must stay those it counts."""
    return any(isinstance(s, For) and (s.order or s.stage) for s in walk(fn.body))
