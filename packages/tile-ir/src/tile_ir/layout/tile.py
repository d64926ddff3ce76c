"""Where the elements of a tile lie in a memory: tile coordinate -> offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout.base import OFFSET, Axis, DigitLayout, check_names

if TYPE_CHECKING:
    from tile_ir.layout.swizzle import Swizzle


@dataclass(frozen=True, slots=True, kw_only=True)
class TileLayout(DigitLayout):
    """Coordinate -> offset in elements, plus at most one XOR on the byte offset.

    `inputs` are the tile's axes in the order of its dimensions; their digits move along `offset`.
    Text: `k (64:64) n (64:1, 4:4096) swizzle<3,4,3>`. Raises E0304 when a digit moves along
    anything else.
    """

    inputs: tuple[Axis, ...]
    swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        check_names(self.inputs, (OFFSET,))

    @property
    def output_names(self) -> tuple[str, ...]:
        return (OFFSET,)

    def pitch(self, element_bits: int) -> int:
        """Return how many elements lie from one such tile to the next where several stand one
        behind another: each begins where the pattern of the swizzle begins."""
        size = self.cosize(element_bits)
        unit = 1 if self.swizzle is None else self.swizzle.alignment * 8 // element_bits
        return -(-size // unit) * unit

    def axis(self, name: str) -> Axis:
        """Return one input axis. Raises E0304 when there is none of that name."""
        for axis in self.inputs:
            if axis.name == name:
                return axis
        axes = ", ".join(self.input_names) or "none"
        raise TileError("E0304", f"`{self}` has no axis `{name}`", help=f"its axes are {axes}")

    def __str__(self) -> str:
        parts = [
            f"{a.name} ({', '.join(f'{d.extent}:{d.stride}' for d in a.digits)})"
            for a in self.inputs
        ]
        text = " ".join(parts) or "()"
        return text if self.swizzle is None else f"{text} {self.swizzle}"
