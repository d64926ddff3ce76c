"""Tiles that blocks draw one after the other, so that who is done first takes the next one."""

from __future__ import annotations

from tile_ir.expr import Const, Expr, Load, Var
from tile_ir.opdef import READ, UPDATE, WRITE, Effect, Stmt, attr, binds, op, operand
from tile_ir.ops.schedule import LATE, SIMT
from tile_ir.types import i32, u32


@op("claim", syntax="claim $counter?( -> $result) of $tiles", stages=LATE)
class Claim(Stmt):
    """Draw the number of a tile that no block of the launch has: `tiles` or more once none is left.

    Blocks begin with the tile of their own number and draw one number after each tile they take,
    so a launch draws `tiles` times. `counter` is one u32 in memory that is kept: it begins with
    zero and goes round in a circle of `tiles` values, so a launch leaves zero to the next one
    without a last block that has to clear it.

    With `onto` one block draws for all of a cluster: the number is put into the slot of that
    channel which each of them is filling, and no result is bound.

    Example: `claim drawn -> n of 64`.
    """

    counter: str = attr()
    result: Var | None = binds(None)
    tiles: Expr = operand(READ)
    onto: str = attr("")

    def effects_(self) -> tuple[Effect, ...]:
        """An update of the one element."""
        return (Effect(UPDATE, Load(self.counter, (Const(0, i32),), u32)),)


@op(
    "send",
    syntax="send $value -> $buffer[$indices] of $peer onto $barrier[$index]",
    stages=SIMT,
)
class Send(Stmt):
    """Put one element of 4 bytes into the shared memory of the block of rank `peer` in the cluster,
    at the place that it has in this one's; they count towards the phase of that block's barrier.

    Example: `send n -> mail[0] of 1 onto full[0]`.
    """

    value: Expr = operand(READ)
    buffer: str = attr()
    indices: tuple[Expr, ...] = operand(READ)
    peer: Expr = operand(READ)
    barrier: str = attr()
    index: Expr = operand(READ)

    def effects_(self) -> tuple[Effect, ...]:
        """A write of the one element."""
        return (Effect(WRITE, Load(self.buffer, self.indices, self.value.dtype)),)
