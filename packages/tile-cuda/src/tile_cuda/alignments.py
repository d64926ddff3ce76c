"""What the copy engine asks of a function's arrays, besides what the accesses of threads do: where
they begin, how far apart their rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import BoxLoad, BoxStore
from tile_ir.rewrite import walk
from tile_passes.launch import alignments as shared

if TYPE_CHECKING:
    from tile_ir.core import Function

__all__ = ["alignments", "pitches"]

ENGINE = 16
"""Bytes: what the engine asks of a tensor's address and strides (CUDA Driver API,
cuTensorMapEncodeTiled)."""


def alignments(fn: Function) -> tuple[int, ...]:
    """For each parameter of a function of stage `simt`, in order: the bytes that its address has to
    be a multiple of; 1 for scalars."""
    return shared.alignments(fn, dict.fromkeys(_in_boxes(fn), ENGINE))


def pitches(fn: Function) -> tuple[int, ...]:
    """For each parameter, in order: the bytes that all its strides but the last have to be a
    multiple of."""
    boxes = _in_boxes(fn)
    return tuple(ENGINE if p.name in boxes else 1 for p in fn.params)


def _in_boxes(fn: Function) -> frozenset[str]:
    """The arrays that the engine copies boxes of."""
    sources = shared.view_sources(fn)
    loads = {s.src.buffer for s in walk(fn.body) if isinstance(s, BoxLoad)}
    stores = {s.dst.buffer for s in walk(fn.body) if isinstance(s, BoxStore)}
    return frozenset(shared.home_of(name, sources) for name in loads | stores)
