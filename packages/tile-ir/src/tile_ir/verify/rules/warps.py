"""Rules of exchanges and reductions in warps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.ops.warps import WARP_REDUCE_KINDS
from tile_ir.types import bool_, i32, u64
from tile_ir.verify.extents import extents, listed, unlike

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Region
    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context


def _one_for_each_thread(regions: tuple[Region, ...], cx: Context) -> None:
    shape = extents(regions[0])
    for r in regions[1:]:
        if unlike(shape, extents(r)):
            cx.report(
                "E0438",
                f"{regions[0].buffer}{listed(shape)} goes with {r.buffer}{listed(extents(r))}",
                "operands have one element for each thread",
            )


def _shuffle(s: ops.Shuffle, cx: Context) -> None:
    _one_for_each_thread((s.src, s.by, s.dst), cx)
    lanes = cx.symbols.buffer(s.by.buffer)
    if lanes is not None and lanes.dtype is not i32:
        cx.report("E0438", f"{lanes.name}, which names lanes, holds {lanes.dtype}, not i32")
    _one_type(s.src, s.dst, cx)


def _one_type(src: Region, dst: Region, cx: Context) -> None:
    a, b = cx.symbols.buffer(src.buffer), cx.symbols.buffer(dst.buffer)
    if a is not None and b is not None and a.dtype is not b.dtype:
        cx.report("E0438", f"{a.name} holds {a.dtype}, and {b.name} {b.dtype}")


def _ballot(s: ops.WarpReduce, cx: Context) -> None:
    for region, wanted in ((s.src, bool_), (s.dst, u64)):
        found = cx.symbols.buffer(region.buffer)
        if found is not None and found.dtype is not wanted:
            cx.report("E0438", f"{found.name} of a ballot holds {found.dtype}, not {wanted}")


def _warp_reduce(s: ops.WarpReduce, cx: Context) -> None:
    cx.choice(s.kind, WARP_REDUCE_KINDS, "the kind of reduction")
    _one_for_each_thread((s.src, s.dst), cx)
    if s.kind == "ballot":
        _ballot(s, cx)
        return
    _one_type(s.src, s.dst, cx)
    buffer = cx.symbols.buffer(s.src.buffer)
    if s.kind in ("and", "or", "xor") and buffer is not None and buffer.dtype.is_float:
        cx.report("E0438", f"{s.kind} of {buffer.dtype} in {buffer.name}", "it works on integers")


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    ops.Shuffle: _shuffle,
    ops.WarpReduce: _warp_reduce,
}
