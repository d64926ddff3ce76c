"""Printed tiles as loops that print one element a line, so that an emitter prints scalars only.

before:  print "sums", total[:]
after:   print "sums"
         for i in range(0, 64, 1) { print "total[{}] = {}", i, total[i] }
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Region
from tile_ir.ops import For, Print
from tile_passes.lower.context import ZERO, LowerContext, indices, long_axes

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt


def lower_print(s: Stmt, cx: LowerContext) -> Body | None:
    """The message with its scalars, then the elements of each region in row-major order."""
    assert isinstance(s, Print)
    tiles = [v for v in s.values if isinstance(v, Region)]
    if not tiles:
        return None
    scalars = tuple(v for v in s.values if not isinstance(v, Region))
    head = (dataclasses.replace(s, values=scalars),) if s.message or scalars else ()
    return (*head, *(stmt for tile in tiles for stmt in _elements(tile, s, cx)))


def _elements(region: Region, s: Print, cx: LowerContext) -> Body:
    axes = long_axes(region)
    loop = cx.loop_vars(len(axes))
    at = indices(region, dict(zip(axes, loop, strict=True)))
    places = ", ".join("{}" for _ in at)
    value = b.load(cx.buffers[region.buffer], at)
    body: Body = (
        Print(message=f"{region.buffer}[{places}] = {{}}", values=(*at, value), span=s.span),
    )
    for axis, var in zip(reversed(axes), reversed(loop), strict=True):
        stop = b.cast(region.ranges[axis].extent, var.dtype)
        body = (
            For(var=var, start=ZERO, stop=stop, step=b.const(1, var.dtype), body=body, span=s.span),
        )
    return body
