"""Bits of floats have no value in float64."""

from tile_ir.accuracy import in_double
from tile_ir.text import parse_function

in_double(
    parse_function("""func @f(X: global f32[1], Y: global i32[1]) {
  kernel @f { tiles (b) in (1) { store Y[0] = bitcast<i32>(X[0]) } }
}""")
)
