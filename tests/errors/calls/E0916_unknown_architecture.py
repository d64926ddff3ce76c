"""Unknown architecture."""

from tile_ir.plugin import load
from tile_ir.target import find_spec, parse_target

find_spec(load("tile.targets", "cpu"), parse_target("cpu -arch=abacus"))
