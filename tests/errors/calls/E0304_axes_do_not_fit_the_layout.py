"""Axes do not fit the layout."""

from tile_ir.layout import parse_layout

parse_layout("m (2:1) m (2:2)")
