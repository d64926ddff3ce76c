"""Swizzle that cannot be."""

from tile_ir.layout import Swizzle

Swizzle(3, 4, 2)
