"""How far a kernel's results are from those of exact arithmetic.

`double` makes of a program the same one in float64, `report` measures results against it in units
in the last place, `order` says whether two runs give the same bits.
"""

from tile_ir.accuracy.double import in_double
from tile_ir.accuracy.order import Order, order_of
from tile_ir.accuracy.report import Accuracy, Output, accuracy

__all__ = ["Accuracy", "Order", "Output", "accuracy", "in_double", "order_of"]
