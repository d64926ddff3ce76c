"""No such plugin group."""

from tile_ir.plugin import discover

discover("tile.targes")
