"""Text is no layout."""

from tile_ir.layout import parse_layout

parse_layout("m (4)")
