"""The oracle: what every op means, executed in numpy at any stage of the IR.

`run` is the reference that every pass and target is compared with. Plugins teach it their ops with
`rule`.
"""

from tile_ir.interp.compiler import Compiler, Step, rule
from tile_ir.interp.machine import Env
from tile_ir.interp.runner import run

__all__ = ["Compiler", "Env", "Step", "rule", "run"]
