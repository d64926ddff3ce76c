"""Not available inside kernels of this target."""

from tile_ir.text import parse_function
from tile_ir.types import f64
from tile_passes.emit.type_limits import refuse_types

text = """
func @f(A: global f64[4]) { kernel @k { tiles (b) in (4) { store A[b] = 0.0:f64 } } }
"""
refuse_types(parse_function(text), {f64}, "this target has no double", "Use float32.")
