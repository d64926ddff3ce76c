"""Element read as another type."""

from tile_ir.build import const
from tile_ir.core import Buffer, Function
from tile_ir.expr import Load, Var
from tile_ir.ops import Alloc, Let
from tile_ir.types import f16, f32
from tile_ir.verify import check

a = Buffer(name="A", dtype=f32, shape=(const(4),), scope="global")
x = Let(var=Var("x", f16), value=Load("A", (const(0),), f16))
check(Function(name="f", params=(), body=(Alloc(buffer=a), x)))
