"""What the threads of a warp do together: exchange values, combine them.

A warp is `warp_width()` neighbouring threads of a block, whose number in it is their lane. Operands
have one element for each thread of the block, so a program means the same where there are no
threads; the width is the target's, 32 where it has none of its own.
"""

from __future__ import annotations

from tile_ir.core import Region, Stage
from tile_ir.opdef import READ, WRITE, Stmt, attr, op, operand

_EARLY = frozenset({Stage.TILE, Stage.SCHEDULED})
"""A thread's program calls functions on its own values instead."""

WARP_REDUCE_KINDS = ("sum", "max", "min", "and", "or", "xor", "ballot")


@op("shuffle", syntax="shuffle $src by $by -> $dst", stages=_EARLY)
class Shuffle(Stmt):
    """dst[t] = src[t'] where t' is the thread of t's warp whose lane is by[t], taken modulo the
    width.

    Every thread takes part; `src` and `dst` have one type, `by` is i32.

    Example: `shuffle x[:] by lane[:] -> y[:]`.
    """

    src: Region = operand(READ)
    by: Region = operand(READ)
    dst: Region = operand(WRITE)


@op("warp_reduce", syntax="warp_reduce $kind $src -> $dst", stages=_EARLY)
class WarpReduce(Stmt):
    """dst[t] = all elements of `src` that belong to t's warp, combined in their type.

    The order is that of exchanges between lanes 2, 4, 8, ... apart from the widest on: every lane
    gets the same bits. A NaN wins max and min. A `ballot` of bool makes a u64 with a bit for each
    lane.

    Example: `warp_reduce sum x[:] -> y[:]`.
    """

    kind: str = attr()
    src: Region = operand(READ)
    dst: Region = operand(WRITE)
