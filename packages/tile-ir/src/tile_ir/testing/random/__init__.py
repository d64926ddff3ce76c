"""Random programs that are valid, deterministic and numerically tame, from a seed; and inputs for
any program.

Each knows how far a right implementation may be off, so that a comparison can be tight:
`random_program` gives the bounds with the function, `random_function` the function alone.
"""

from tile_ir.testing.random.inputs import random_inputs
from tile_ir.testing.random.programs import Program, random_function, random_program

__all__ = ["Program", "random_function", "random_inputs", "random_program"]
