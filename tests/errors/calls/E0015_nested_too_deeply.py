"""Nested too deeply."""

from tile_ir.text import parse_module

parse_module("tile.ir 1.0 tile\nfunc @f() { let x = " + "(" * 5000 + "1" + ")" * 5000 + " }")
