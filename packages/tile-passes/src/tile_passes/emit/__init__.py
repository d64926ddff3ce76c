"""The shared writer of C-family source: every target prints through it with tables of its own."""

from tile_passes.emit.cfamily import StmtPrinter
from tile_passes.emit.dialect import Dialect, Infix
from tile_passes.emit.exprs import ExprPrinter
from tile_passes.emit.names import c_name
from tile_passes.emit.writer import Writer

__all__ = ["Dialect", "ExprPrinter", "Infix", "StmtPrinter", "Writer", "c_name"]
