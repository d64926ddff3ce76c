"""Tile without elements."""

from tile_ir.layout import row_major

row_major((0, 4), ("m", "k"))
