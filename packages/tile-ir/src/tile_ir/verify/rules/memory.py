"""Rules of views, bindings, moves, stores and atomics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir import ops
from tile_ir.expr import Load
from tile_ir.ops.memory import ATOMIC_KINDS, MEMORY_ORDERS
from tile_ir.verify.buffers import storage_bits
from tile_ir.verify.extents import extents, listed, unlike, without_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.core import Region
    from tile_ir.opdef import Stmt
    from tile_ir.verify.context import Context

EVICTIONS = ("normal", "evict_first", "evict_last", "evict_normal")
_BITS = ("and", "or", "xor")


def _alloc(s: ops.Alloc, cx: Context) -> None:
    if not cx.place.kernel and s.buffer.scope != "global":
        cx.report("E0413", f"{s.buffer.name} is in {s.buffer.scope} memory, outside a kernel")
    if s.kept and (cx.place.kernel or s.buffer.scope != "global"):
        cx.report(
            "E0413", f"{s.buffer.name} cannot be kept: only global memory outside a kernel is"
        )


def _view(s: ops.View, cx: Context) -> None:
    source = cx.buffer(s.source)
    if source is None:
        return
    if source.scope != s.buffer.scope:
        cx.report(
            "E0429", f"{s.buffer.name} is in {s.buffer.scope}, {source.name} in {source.scope}"
        )
    if source.strides is not None or s.buffer.strides is not None:
        cx.report("E0429", f"a view of {source.name} renames dense storage, but strides are given")
    have, want = storage_bits(source), storage_bits(s.buffer)
    if have is not None and want is not None and have != want:
        cx.report("E0429", f"{s.buffer.name} has {want} bits, {source.name} has {have}")


def _let(s: ops.Let, cx: Context) -> None:
    if s.value.dtype is not s.var.dtype:
        cx.report("E0433", f"{s.var.name} is {s.var.dtype}, its value is {s.value.dtype}")


def _copy(s: ops.Copy, cx: Context) -> None:
    a, b = without_units(extents(s.src)), without_units(extents(s.dst))
    if unlike(a, b):
        cx.report(
            "E0422",
            f"{s.src.buffer}{listed(a)} is copied to {s.dst.buffer}{listed(b)}",
            "both sides have the same extents, axes of extent 1 apart",
        )
    cx.choice(s.eviction, EVICTIONS, "the eviction hint")


def _fill(s: ops.Fill, cx: Context) -> None:
    buffer = cx.symbols.buffer(s.dst.buffer)
    if buffer is not None and s.value.dtype is not buffer.dtype:
        cx.report("E0425", f"{buffer.name} holds {buffer.dtype}, the value is {s.value.dtype}")


def _transpose(s: ops.Transpose, cx: Context) -> None:
    a, b = extents(s.src), extents(s.dst)
    rank = 2
    if len(a) < rank or len(b) < rank:
        cx.report("E0432", "a transpose needs two axes on both sides")
    elif unlike(without_units((*a[:-2], a[-1], a[-2])), without_units(b)):
        cx.report("E0432", f"{s.src.buffer}{listed(a)} transposed is not {s.dst.buffer}{listed(b)}")


def _element(s: ops.Store | ops.Atomic, cx: Context, slot: Any = None) -> None:
    cx.element(Load(s.buffer, s.indices, s.value.dtype, slot))


def _store(s: ops.Store, cx: Context) -> None:
    buffer = cx.symbols.buffer(s.buffer)
    if buffer is None:
        return
    lanes = s.indices[-1].dtype.lanes if s.indices else buffer.dtype.lanes
    want = buffer.dtype.with_lanes(lanes)
    if s.value.dtype is not want:
        cx.report("E0426", f"{buffer.name} holds {want}, the value is {s.value.dtype}")
        return
    _element(s, cx, s.slot)


def _atomic(s: ops.Atomic, cx: Context) -> None:
    buffer = cx.symbols.buffer(s.buffer)
    _atomic_kind(s, cx, s.buffer)
    lanes = s.indices[-1].dtype.lanes if s.indices else 1
    if buffer is not None and s.value.dtype is not (want := buffer.dtype.with_lanes(lanes)):
        cx.report("E0428", f"{buffer.name} holds {want}, the value is {s.value.dtype}")
        return
    _element(s, cx)
    if s.result is not None and buffer is not None and s.result.dtype is not buffer.dtype:
        cx.report("E0428", f"{s.result.name} is {s.result.dtype}, {s.buffer} holds {buffer.dtype}")


def _atomic_tile(s: ops.AtomicTile, cx: Context) -> None:
    _atomic_kind(s, cx, s.dst.buffer)
    _same_type(s.src, s.dst, cx)
    a, b = without_units(extents(s.src)), without_units(extents(s.dst))
    if unlike(a, b):
        cx.report("E0428", f"{s.src.buffer}{listed(a)} is combined into {s.dst.buffer}{listed(b)}")


def _same_type(src: Region, dst: Region, cx: Context) -> None:
    a, b = cx.symbols.buffer(src.buffer), cx.symbols.buffer(dst.buffer)
    if a is not None and b is not None and a.dtype is not b.dtype:
        cx.report("E0428", f"{a.name} holds {a.dtype}, {b.name} holds {b.dtype}")


def _atomic_kind(s: ops.Atomic | ops.AtomicTile, cx: Context, name: str) -> None:
    cx.choice(s.kind, ATOMIC_KINDS, "the kind of atomic")
    cx.choice(s.order, MEMORY_ORDERS, "the memory order")
    buffer = cx.symbols.buffer(name)
    if buffer is None:
        return
    if s.kind in _BITS and buffer.dtype.is_float:
        cx.report("E0428", f"atomic {s.kind} of {buffer.dtype} in {name}", "it works on integers")
    if buffer.scope not in ("global", "shared"):
        cx.report("E0428", f"{name} is in {buffer.scope} memory, which one thread alone sees")


RULES: dict[type[Stmt], Callable[[Any, Context], None]] = {
    ops.Alloc: _alloc,
    ops.View: _view,
    ops.Let: _let,
    ops.Copy: _copy,
    ops.Fill: _fill,
    ops.Transpose: _transpose,
    ops.Store: _store,
    ops.Atomic: _atomic,
    ops.AtomicTile: _atomic_tile,
}
