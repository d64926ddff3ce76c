"""An op of a plugin whose attribute has no default, which the text leaves out."""

from __future__ import annotations

from tile_ir.opdef import Stmt, attr, op
from tile_ir.text import parse_module


@op("prefetch", syntax="prefetch")
class Prefetch(Stmt):
    """Fetch `count` lines ahead."""

    count: int = attr()


parse_module("tile.ir 1.0 tile\nfunc @f() {\n  prefetch\n}\n")
