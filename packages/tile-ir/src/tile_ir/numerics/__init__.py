"""Conversions between element types and integer arithmetic at a width: one meaning for all targets.

Constant folding, the oracle, the emitters and the tests of every target take their rules from here.
This package needs the standard library only; `tile_ir.numerics.array`, imported by whoever owns
arrays, holds the same rules vectorised.
"""

from tile_ir.numerics.facts import FORMAT_FACTS, F32Recipe, FormatFacts
from tile_ir.numerics.integer import (
    ceildiv,
    floordiv,
    floormod,
    shl,
    shr,
    truncdiv,
    truncmod,
    wrap,
)
from tile_ir.numerics.scalar import convert, decode, encode, literal_bits

__all__ = [
    "FORMAT_FACTS",
    "F32Recipe",
    "FormatFacts",
    "ceildiv",
    "convert",
    "decode",
    "encode",
    "floordiv",
    "floormod",
    "literal_bits",
    "shl",
    "shr",
    "truncdiv",
    "truncmod",
    "wrap",
]
