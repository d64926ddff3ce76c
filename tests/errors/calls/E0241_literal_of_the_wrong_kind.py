"""Literal of the wrong kind."""

from tile_ir import build
from tile_ir.types import i32

build.const(0.5, i32)
