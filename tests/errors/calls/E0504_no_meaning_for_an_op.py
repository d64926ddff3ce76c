"""An op of a plugin that declares no rule for the oracle."""

from tile_ir.interp import run
from tile_ir.opdef import Stmt, op
from tile_ir.text import parse_function


@op("warm_up", syntax="warm_up")
class WarmUp(Stmt):
    """Bring the machine to its clock."""


run(parse_function("func @f() { warm_up }"), {})
