"""Scans of a few rows go forward in all of them at once.

A scan is a chain: each addition waits for the one before, four cycles on present cores. Rows are
independent, so a step along the axis that is scanned does one addition for each of them. The order
within a row stays.

    before:  scan sum x[:, :] -> y[:, :] dim 1
    after:   parallel (i) in (4) { store acc[i] = 0.0 }
             for r in (0, 128, 1) {
               parallel (i) in (4) { store acc[i] = acc[i] + x[i, r];  store y[i, r] = acc[i] } }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.expr import Const, Expr
from tile_ir.ops import Alloc, For, Scan, Store
from tile_passes.lower.context import ZERO, indices, parallel, store
from tile_passes.lower.reductions import ONE, accumulator_type, combine, identity

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.context import LowerContext

__all__ = ["scan_rows"]

ROWS = 8
"""More accumulators would not stay in registers."""


def scan_rows(s: Stmt, cx: LowerContext) -> Body | None:
    """The loops of a scan of 2 to 8 rows; None for others."""
    assert isinstance(s, Scan)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    rank = len(s.src.ranges)
    dim = s.dim % rank
    kept = tuple(a for a in range(rank) if a != dim)
    extents = [s.src.ranges[a].extent for a in kept]
    rows = 1
    for n in extents:
        rows *= int(n.value) if isinstance(n, Const) else ROWS + 1
    if not 2 <= rows <= ROWS:
        return None
    kind = accumulator_type(s.kind, src.dtype, dst.dtype)
    acc = Buffer(
        name=cx.names.fresh("acc"), dtype=kind, shape=tuple(extents), scope="fragment", span=s.span
    )
    first, loop = cx.loop_vars(len(kept)), cx.loop_vars(len(kept))
    r, extent = cx.names.var("r"), s.src.ranges[dim].extent
    here: Expr = b.sub(b.sub(extent, 1), r) if s.reverse else r
    at = dict(zip(kept, loop, strict=True))
    item = b.cast(b.load(src, indices(s.src, {**at, dim: here})), kind)
    old = b.load(acc, loop)
    steps: Body = (
        Store(buffer=acc.name, indices=loop, value=combine(s.kind, old, item), span=s.span),
        store(dst, indices(s.dst, {**at, dim: here}), old, s.span),
    )
    clear = Store(buffer=acc.name, indices=first, value=identity(s.kind, kind), span=s.span)
    inner = parallel(loop, extents, steps, s.span)
    return (
        Alloc(buffer=acc, span=s.span),
        *parallel(first, extents, (clear,), s.span),
        For(var=r, start=ZERO, stop=extent, step=ONE, body=inner, span=s.span),
    )
