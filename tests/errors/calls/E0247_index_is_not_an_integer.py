"""Index is not an integer."""

from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.types import f32

a = Buffer(name="A", dtype=f32, shape=(build.const(4),), scope="global")
build.load(a, [build.const(1.0)])
