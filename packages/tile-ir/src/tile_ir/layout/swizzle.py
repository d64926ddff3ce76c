"""The one XOR a shared-memory layout may have, on byte offsets.

Row-major tiles put one column into few banks. Exchanging the 16-byte chunks of a row by the row's
number spreads it over all of them and keeps every chunk whole, so that copy engines and matrix
units can still move whole chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir.diag import TileError


@dataclass(frozen=True, slots=True)
class Swizzle:
    """XOR bits [base, base+bits) of the byte offset with bits [base+shift, base+shift+bits).

    `swizzle<3,4,3>` exchanges the eight 16-byte chunks of a 128-byte row by the row modulo 8.
    Raises E0303 unless 1 <= bits <= shift and base >= 0: only then are the two bit fields apart and
    the map its own inverse.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 1 or self.base < 0 or self.shift < self.bits:
            raise TileError(
                "E0303",
                f"`{self}` is not a swizzle",
                notes=("the bits it changes and the bits it reads must not overlap",),
                help="use swizzle<bits,base,shift> with 1 <= bits <= shift and base >= 0",
            )

    @property
    def alignment(self) -> int:
        """Bytes after which the pattern repeats: a buffer must start at a multiple."""
        return 1 << (self.base + self.shift + self.bits)

    @property
    def block(self) -> int:
        """Bytes within which an offset stays when it is exchanged."""
        return 1 << (self.base + self.bits)

    def apply(self, byte_offset: int) -> int:
        """Return the exchanged byte offset; applying twice gives the argument back."""
        return byte_offset ^ ((byte_offset >> self.shift) & (self.block - (1 << self.base)))

    def apply_elements(self, offset: int, element_bits: int) -> int:
        """Return the exchanged offset counted in elements of `element_bits` bits.

        Raises E0303 when an element does not fit whole into the chunks that are exchanged.
        """
        if (8 << self.base) % element_bits:
            raise TileError(
                "E0303",
                f"`{self}` moves {1 << self.base} bytes, no multiple of {element_bits} bits",
                help="raise the swizzle's base or use an element width that divides the chunk",
            )
        per_chunk = (8 << self.base) // element_bits
        chunk, inside = offset // per_chunk, offset % per_chunk
        return (chunk ^ ((chunk >> self.shift) & ((1 << self.bits) - 1))) * per_chunk + inside

    def __str__(self) -> str:
        return f"swizzle<{self.bits},{self.base},{self.shift}>"
