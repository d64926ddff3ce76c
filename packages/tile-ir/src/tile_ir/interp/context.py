"""What the compilation of an expression or access may ask of the compiler around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.expr import Expr, Slot, Var
    from tile_ir.interp.machine import Eval


class Context(Protocol):
    """The part of `Compiler` that concerns values."""

    buffers: dict[str, Buffer]
    threads: int
    """How many threads a block has in the kernel being compiled, 0 where it is written for all of
    them together."""
    lane_axes: dict[Var, int]
    """The variables of the enclosing vectorised `parallel`, with their axes."""

    def expr(self, e: Expr) -> Eval:
        """The evaluator of an expression."""

    def is_array(self, e: Expr) -> bool:
        """Whether the value of `e` is an array: it differs between lanes, or is a vector."""

    def read_end(self, slot: Slot | None) -> str:
        """The end of a channel whose cursor a read means: the consumer's, unless this role only
        produces.
        """

    def write_end(self, slot: Slot | None) -> str:
        """The end of a channel whose cursor a write means: the producer's, unless this role only
        consumes.
        """
