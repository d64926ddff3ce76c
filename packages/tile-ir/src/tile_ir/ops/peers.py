"""What blocks of a cluster make of tiles that each of them has."""

from __future__ import annotations

from tile_ir.core import Region, Stage
from tile_ir.expr import Expr
from tile_ir.opdef import READ, UPDATE, Stmt, attr, op, operand

_EARLY = frozenset({Stage.TILE, Stage.SCHEDULED})
"""A thread's program sends its own values instead."""


@op("combine", syntax="combine $dst by $inbox at $rank", stages=_EARLY)
class Combine(Stmt):
    """Add the tiles `dst` of all blocks of the cluster up in the block of rank 0, in the order of
    their ranks; the others keep theirs. `rank` is that of the block itself.

    `inbox` is a shared buffer of as many elements for each block but one, of the type of `dst`:
    what the others send lies there, at a time of their choosing. `onto` names the barriers that
    count the bytes, once there are some. Blocks come here once.

    Example: `combine C_l[:, :] by C_inbox[:] at part`.
    """

    dst: Region = operand(UPDATE)
    inbox: Region = operand(UPDATE)
    rank: Expr = operand(READ)
    onto: str = attr("")
