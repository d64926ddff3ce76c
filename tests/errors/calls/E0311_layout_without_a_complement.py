"""Layout without a complement."""

from tile_ir.layout import complement, parse_layout

complement(parse_layout("x (2:m*1, 2:m*3) -> (m)"), (12,))
