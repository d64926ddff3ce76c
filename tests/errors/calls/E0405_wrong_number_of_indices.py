"""Wrong number of indices."""

from tile_ir.build import const
from tile_ir.core import Buffer, Function, Region
from tile_ir.ops import Alloc, Print
from tile_ir.types import f32
from tile_ir.verify import check

a = Buffer(name="A", dtype=f32, shape=(const(4),), scope="global")
check(
    Function(
        name="f", params=(), body=(Alloc(buffer=a), Print(message="", values=(Region("A", ()),)))
    )
)
