"""How each array of a function has to be aligned for the accesses that its kernels make.

The lowering widens accesses as far as strides and starts allow and takes the array itself to begin
where the widest may. Memory from an allocator always does; a view into it need not, and hardware
stops at a misaligned access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.core import Region
from tile_ir.ops import View
from tile_ir.rewrite import all_effects, walk

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Effect

__all__ = ["alignments"]

WIDEST = 16
"""Bytes: the widest access of a thread, and what engines ask of a box's memory."""


def alignments(fn: Function) -> tuple[int, ...]:
    """For each parameter of a function of stage `simt`, in order: the bytes that its address has to
    be a multiple of; 1 for scalars."""
    sources = {s.buffer.name: s.source for s in walk(fn.body) if isinstance(s, View)}
    found: dict[str, int] = {}
    for effect in all_effects(fn.body):
        name = effect.buffer
        while name in sources:
            name = sources[name]
        found[name] = max(found.get(name, 1), _width(effect))
    return tuple(
        max(found.get(p.name, 1), p.buffer.dtype.storage_bits // 8) if p.buffer is not None else 1
        for p in fn.params
    )


def _width(effect: Effect) -> int:
    """The bytes of one access; statements that name a region have an engine do it."""
    if isinstance(effect.region, Region):
        return WIDEST
    return _bytes(effect.region.dtype.storage_bits)


def _bytes(bits: int) -> int:
    """The largest power of two up to the widest access that holds no more than `bits`."""
    size = 1
    while size < WIDEST and 16 * size <= bits:
        size *= 2
    return size
