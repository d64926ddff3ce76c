"""Cut inside a digit."""

from tile_ir.layout import parse_layout, restrict

restrict(parse_layout("m (4:1)"), "m", 3)
