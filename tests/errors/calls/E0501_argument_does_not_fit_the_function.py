"""Argument does not fit the function."""

import numpy as np

from tile_ir.interp import run
from tile_ir.text import parse_function

run(parse_function("func @f(A: global f32[4]) { }"), {"A": np.zeros(4, np.float64)})
