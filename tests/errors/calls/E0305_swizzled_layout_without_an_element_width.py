"""Swizzled layout without an element width."""

from tile_ir.layout import parse_layout

parse_layout("m (2:1) swizzle<3,4,3>").offset((1,))
