"""Unknown operator or function."""

from tile_ir.build import const
from tile_ir.core import Function
from tile_ir.expr import Binary, Var
from tile_ir.ops import Let
from tile_ir.types import i32
from tile_ir.verify import check

total = Binary("plus", const(1), const(2), i32)
check(Function(name="f", params=(), body=(Let(var=Var("x", i32), value=total),)))
