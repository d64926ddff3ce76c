"""Point outside a layout's table."""

from tile_ir.layout import parse_layout, tabulate

tabulate(parse_layout("m (4:1)")).evaluate((4,))
