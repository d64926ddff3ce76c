"""What no kernel in Metal can hold, said before anything is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.types import f64
from tile_passes.emit.type_limits import refuse_types

if TYPE_CHECKING:
    from tile_ir.core import Function

__all__ = ["refuse_doubles"]


def refuse_doubles(fn: Function) -> None:
    """Raise TileError E3101 where a kernel computes or stores f64, which the hardware lacks."""
    refuse_types(
        fn,
        frozenset({f64}),
        "Metal Shading Language has no double",
        "Use float32, or run the kernel with target='cpu'.",
    )
