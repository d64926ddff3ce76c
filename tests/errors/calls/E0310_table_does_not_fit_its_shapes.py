"""Table does not fit its shapes."""

from tile_ir.layout import parse_layout

parse_layout("map n 4 -> offset 4 [0+3]")
