"""Layout too large for a table."""

from tile_ir.layout import row_major, tabulate

tabulate(row_major((65537,)))
