"""What the accesses of a function's kernels ask of its arrays: where they begin, how far apart
their rows are.

The lowering widens accesses as far as strides and starts allow and takes the array itself to begin
where the widest may. Memory from an allocator always does; a view into it need not, and hardware
stops at a misaligned access. The engine that copies boxes wants the distances of rows too.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.core import Region
from tile_ir.expr import Const
from tile_ir.ops import BoxLoad, BoxStore, View
from tile_ir.rewrite import all_effects, declared, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Effect

__all__ = ["alignments", "pitches"]

WIDEST = 16
"""Bytes: the widest access of a thread, and what the engine asks of a tensor's address and strides
(CUDA Driver API, cuTensorMapEncodeTiled)."""


def alignments(fn: Function) -> tuple[int, ...]:
    """For each parameter of a function of stage `simt`, in order: the bytes that its address has to
    be a multiple of; 1 for scalars."""
    buffers = declared(fn)
    found: dict[str, int] = dict.fromkeys(_in_boxes(fn), WIDEST)
    sources = _sources(fn)
    for effect in all_effects(fn.body):
        name = _home(effect.buffer, sources)
        found[name] = max(found.get(name, 1), _width(effect, buffers))
    return tuple(
        1 if p.buffer is None else max(found.get(p.name, 1), p.buffer.dtype.storage_bits // 8)
        for p in fn.params
    )


def pitches(fn: Function) -> tuple[int, ...]:
    """For each parameter, in order: the bytes that all its strides but the last have to be a
    multiple of."""
    boxes = _in_boxes(fn)
    return tuple(WIDEST if p.name in boxes else 1 for p in fn.params)


def _in_boxes(fn: Function) -> frozenset[str]:
    """The arrays that the engine copies boxes of."""
    sources = _sources(fn)
    loads = {s.src.buffer for s in walk(fn.body) if isinstance(s, BoxLoad)}
    stores = {s.dst.buffer for s in walk(fn.body) if isinstance(s, BoxStore)}
    return frozenset(_home(name, sources) for name in loads | stores)


def _sources(fn: Function) -> Mapping[str, str]:
    return {s.buffer.name: s.source for s in walk(fn.body) if isinstance(s, View)}


def _home(name: str, sources: Mapping[str, str]) -> str:
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
