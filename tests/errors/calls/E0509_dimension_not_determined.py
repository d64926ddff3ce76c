"""Dimension not determined."""

from tile_ir.interp import run
from tile_ir.text import parse_function

run(parse_function("func @f(B: global i32[n]) dims (n) results (B) { fill B[:], n }"), {})
