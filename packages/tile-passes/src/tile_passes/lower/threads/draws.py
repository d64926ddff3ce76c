"""Tiles drawn for a cluster: one of its blocks draws, and sends the number to each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.ops import If, Send
from tile_ir.rewrite import replace
from tile_ir.types import i32

if TYPE_CHECKING:
    from tile_ir.opdef import Body
    from tile_ir.ops import Claim
    from tile_passes.lower.threads.ends import Ring
    from tile_passes.naming import Names

__all__ = ["drawn_together"]


def drawn_together(s: Claim, ring: Ring, blocks: int, names: Names) -> Body:
    """The draw as one thread of each block does it; tiles are those of a cluster together. The
    block that draws sends to itself as well, so that all wait alike.
    """
    number = names.var("number", i32)
    (name,) = ring.channel.carries
    at = ring.producer.at()
    sends = (
        Send(
            value=number,
            buffer=name,
            indices=(at, b.const(0, i32)),
            peer=b.const(rank, i32),
            barrier=ring.full,
            index=at,
            span=s.span,
        )
        for rank in range(blocks)
    )
    draw = replace(s, result=number, tiles=b.floordiv(s.tiles, blocks), onto="")
    return (If(cond=b.eq(b.call("block_rank"), 0), then=(draw, *sends), span=s.span),)
