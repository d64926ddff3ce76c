"""Accumulators that a product clears in the first trip of a loop, cleared before it instead.

An asynchronous instruction can leave its old result unread at no cost; for others the question in
every trip costs a selection for each register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const
from tile_ir.ops import Fill, For, Gemm
from tile_ir.rewrite import all_effects, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_passes.analysis.facts import Facts

__all__ = ["cleared_before"]


def cleared_before(
    loop: For, buffers: Mapping[str, Buffer], facts: Facts
) -> tuple[tuple[Fill, ...], For]:
    """The fills that go before a loop, and the loop without the questions that they answer."""
    upward = isinstance(loop.step, Const) and loop.step.value > 0
    if not upward or facts.prove(b.lt(loop.start, loop.stop)) is not True:
        return (), loop
    first = b.eq(loop.var, loop.start)
    fills: list[Fill] = []
    body: list[Stmt] = []
    for s in loop.body:
        if isinstance(s, Gemm) and s.init is first and not _touched(tuple(body), s.c.buffer):
            zero = b.const(0, buffers[s.c.buffer].dtype)
            fills.append(Fill(dst=s.c, value=zero, span=s.span))
            s = replace(s, init=None)
        body.append(s)
    return (tuple(fills), replace(loop, body=tuple(body))) if fills else ((), loop)


def _touched(body: Body, buffer: str) -> bool:
    return any(e.buffer == buffer for e in all_effects(body))
