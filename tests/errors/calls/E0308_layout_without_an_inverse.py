"""Layout without an inverse."""

from tile_ir.layout import inverse, parse_layout

inverse(parse_layout("m (4:1, 4:2)"))
