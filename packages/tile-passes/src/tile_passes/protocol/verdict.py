"""What a check of a protocol says of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.diag import TileError

__all__ = ["Verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a kernel: `proved`, `violated`, `bounded` or `not covered`, and why."""

    kernel: str
    kind: str
    reason: str
    runs: int = 0
    error: TileError | None = None
