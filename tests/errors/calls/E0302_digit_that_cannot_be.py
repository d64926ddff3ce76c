"""Digit that cannot be."""

from tile_ir.layout import parse_layout

parse_layout("m (4:-1)")
