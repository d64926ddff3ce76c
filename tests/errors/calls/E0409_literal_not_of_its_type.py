"""Literal not of its type."""

from tile_ir.core import Function
from tile_ir.expr import Const, Var
from tile_ir.ops import Let
from tile_ir.types import u8
from tile_ir.verify import check

check(Function(name="f", params=(), body=(Let(var=Var("x", u8), value=Const(256, u8)),)))
