"""How each array of a function has to be aligned for the accesses that its kernels make.

The lowering widens accesses as far as strides and starts allow and takes the array itself to begin
where the widest may. Memory from an allocator always does; a view into it need not, and hardware
stops at a misaligned access.
"""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.core import Region
from tile_ir.expr import Const
from tile_ir.ops import View
from tile_ir.rewrite import all_effects, declared, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Effect

__all__ = ["alignments", "home_of", "view_sources"]

WIDEST = 16
"""Bytes: the widest access of a thread."""


def alignments(fn: Function, least: Mapping[str, int] = MappingProxyType({})) -> tuple[int, ...]:
    """For each parameter of a function of stage `simt`, in order: the bytes that its address has to
    be a multiple of; 1 for scalars. `least` has what other users of an array ask of it."""
    buffers, sources = declared(fn), view_sources(fn)
    found = dict(least)
    for effect in all_effects(fn.body):
        name = home_of(effect.buffer, sources)
        found[name] = max(found.get(name, 1), _width(effect, buffers))
    return tuple(
        1 if p.buffer is None else max(found.get(p.name, 1), p.buffer.dtype.storage_bits // 8)
        for p in fn.params
    )


def view_sources(fn: Function) -> Mapping[str, str]:
    """Name of a view -> the array that it shows."""
    return {s.buffer.name: s.source for s in walk(fn.body) if isinstance(s, View)}


def home_of(name: str, sources: Mapping[str, str]) -> str:
    """The array that a view, or a view of one, shows."""
    while name in sources:
        name = sources[name]
    return name


def _width(effect: Effect, buffers: Mapping[str, Buffer]) -> int:
    """The bytes of one access of a thread."""
    if not isinstance(effect.region, Region):
        return _bytes(effect.region.dtype.storage_bits)
    extents = (r.extent for r in effect.region.ranges)
    count = prod(int(e.value) for e in extents if isinstance(e, Const))
    return _bytes(count * buffers[effect.buffer].dtype.storage_bits)


def _bytes(bits: int) -> int:
    """The largest power of two up to the widest access that holds no more than `bits`."""
    size = 1
    while size < WIDEST and 16 * size <= bits:
        size *= 2
    return size
