"""Wrong number of indices."""

from tile_ir import build
from tile_ir.core import Buffer
from tile_ir.types import f32

a = Buffer(name="A", dtype=f32, shape=(build.const(4),), scope="global")
build.load(a, [0, 0])
