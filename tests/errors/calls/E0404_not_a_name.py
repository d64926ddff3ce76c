"""Not a name."""

from tile_ir.build import const
from tile_ir.core import Function
from tile_ir.expr import Var
from tile_ir.ops import Let
from tile_ir.types import i32
from tile_ir.verify import check

check(Function(name="f", params=(), body=(Let(var=Var("a b", i32), value=const(1)),)))
