"""Tensors as the emulated copy engine sees them: `struct box_map` of engine.c."""

from __future__ import annotations

import struct

from tile_ir.diag import TileError

__all__ = ["BoxMaps"]

LAYOUT = struct.Struct("=Q5Q5Q5I4I4x")
GRANULARITY = 16
MAX_STRIDE = 1 << 40
AXES = 5


class BoxMaps:
    """Describes the tensors of one parameter: `bits` of an element, extents of the `box` innermost
    first, bytes of an exchanged row (16: none); `kind` is `f32` where the engine may add."""

    def __init__(
        self, *, name: str, bits: int, box: tuple[int, ...], row_bytes: int, kind: str = ""
    ) -> None:
        self.name = name
        self.element = max(bits, 8) // 8
        self.box = box
        self.row_bytes = row_bytes
        self.adds = int(kind == "f32")

    def __call__(self, address: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
        """The description of a tensor: extents in elements, strides of all axes but the innermost
        in bytes, both innermost first.

        Raises TileError E3017 for a tensor that a copy engine does not take.
        """
        if min(extents) > 0:
            self._check(address, strides)
        rank = len(extents)
        fill = (0,) * (AXES - rank)
        steps = (self.element, *strides)
        return LAYOUT.pack(
            address,
            *extents,
            *fill,
            *steps,
            *fill,
            *self.box,
            *fill,
            self.element,
            self.row_bytes,
            rank,
            self.adds,
        )

    def _check(self, address: int, strides: tuple[int, ...]) -> None:
        wrong = [s for s in strides if s % GRANULARITY or not 0 <= s < MAX_STRIDE]
        if address % GRANULARITY or wrong:
            what = f"a stride of {wrong[0]} bytes" if wrong else "its address"
            raise TileError(
                "E3017",
                f"{self.name} cannot be copied in boxes: {what} is no multiple of {GRANULARITY}",
                help="Pass a tensor with aligned rows, or compile the generic variant.",
            )
