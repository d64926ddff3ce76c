"""Malformed target."""

from tile_ir.target import parse_target

parse_target("cpu arch=x")
