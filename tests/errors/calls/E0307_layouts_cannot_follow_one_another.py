"""Layouts cannot follow one another."""

from tile_ir.layout import compose, parse_layout

compose(parse_layout("k (16:1)"), parse_layout("thread (8:m*1) value (2:m*8)"))
