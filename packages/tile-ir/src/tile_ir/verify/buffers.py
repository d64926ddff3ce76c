"""Rules of buffer declarations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir.core import SCOPES, Buffer, Stage
from tile_ir.expr import Const, Expr

if TYPE_CHECKING:
    from tile_ir.verify.context import Context


def constants(shape: tuple[Expr, ...]) -> tuple[int, ...] | None:
    """The extents as numbers, or None when one is symbolic."""
    out = [int(e.value) for e in shape if type(e) is Const]
    return tuple(out) if len(out) == len(shape) else None


def storage_bits(b: Buffer) -> int | None:
    """Bits of the whole buffer (one slot), or None when its shape is symbolic."""
    shape = constants(b.shape)
    return None if shape is None else math.prod(shape) * b.dtype.storage_bits


def check_buffer(b: Buffer, cx: Context) -> None:
    """Report violations in the declaration of `b` (E0415, E0416)."""
    if b.scope not in SCOPES:
        cx.report("E0415", f"{b.name} is in {b.scope!r}, which is no memory scope")
    if b.dtype.lanes != 1 and b.scope != "var":
        cx.report("E0415", f"{b.name} has elements of the vector type {b.dtype}")
    _shape(b, cx)
    if b.strides is not None:
        _strides(b, cx)
    if b.safe_value is not None and b.safe_value.dtype is not b.dtype:
        cx.report("E0415", f"the safe value of {b.name} is {b.safe_value.dtype}, not {b.dtype}")
    if b.slots < 1 or (b.offset is not None and b.offset < 0):
        cx.report("E0415", f"{b.name} has {b.slots} slots at offset {b.offset}")
    if b.layout is not None:
        _layout(b, cx)


def _shape(b: Buffer, cx: Context) -> None:
    for extent in b.shape:
        cx.expression(extent)
        if not extent.dtype.is_int:
            cx.report("E0415", f"an extent of {b.name} is {extent.dtype}, not an integer")
        elif type(extent) is Const and extent.value < 0:
            cx.report("E0415", f"{b.name} has a negative extent, {extent.value}")
    if b.scope == "var" and b.shape:
        cx.report("E0415", f"{b.name} is one scalar per thread but has {b.rank} axes")
    # Once planned, a shared buffer may hold one slot for each trip of a loop: its first extent.
    fixed = b.shape[1:] if b.scope == "shared" and cx.stage is not Stage.TILE else b.shape
    if b.scope != "global" and constants(fixed) is None:
        cx.report(
            "E0415",
            f"{b.name} is in {b.scope} memory and has a symbolic extent",
            "only global buffers have shapes that are known at launch",
            fix="use a constant tile size",
        )


def _strides(b: Buffer, cx: Context) -> None:
    assert b.strides is not None  # the caller asked
    if b.scope != "global":
        cx.report("E0415", f"{b.name} has strides, but is in {b.scope} memory", fix="use a layout")
    if len(b.strides) != b.rank:
        cx.report("E0415", f"{b.name} has {b.rank} axes and {len(b.strides)} strides")
    for stride in b.strides:
        cx.expression(stride)


def _layout(b: Buffer, cx: Context) -> None:
    layout, shape = b.layout, constants(b.shape)
    assert layout is not None  # the caller asked
    if b.scope in ("global", "var"):
        cx.report("E0416", f"{b.name} is in {b.scope} memory and has a layout")
    elif layout.is_fragment is not (b.scope == "fragment"):
        kind = "registers of threads" if layout.is_fragment else "offsets in memory"
        cx.report("E0416", f"the layout of {b.name}, in {b.scope} memory, gives {kind}")
    elif shape is not None and not _covers(layout.shape, shape, b.slots):
        cx.report("E0416", f"the layout of {b.name} covers {layout.shape}, not {shape}")


def _covers(box: tuple[int, ...], shape: tuple[int, ...], slots: int) -> bool:
    """Whether a layout's box holds the shape, alone or with the ring axis before it."""
    wanted = (shape, (slots, *shape)) if slots > 1 else (shape,)
    return any(
        len(box) == len(want) and all(b >= w for b, w in zip(box, want, strict=True))
        for want in wanted
    )
