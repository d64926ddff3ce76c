"""Which tensors of a kernel are written past the caches.

A plain store first reads the line that it writes to, and keeps it: of a result that fills the last
level, the beginning is thrown out again before anybody comes back to it, and so is what the kernel
reads. Stores past the caches write whole lines and read nothing. They are used where a tensor takes
half of the last level, which is known at the launch at the latest, and only of kernels that neither
read the tensor nor tell other workers about it: the runtime orders these stores after the last job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Expr, Ramp
from tile_ir.opdef import Access, Body, bodies
from tile_ir.ops import (
    Alloc,
    Assert,
    Assume,
    Atom,
    Atomic,
    Break,
    Continue,
    Copy,
    For,
    If,
    Kernel,
    Let,
    Parallel,
    Print,
    Store,
    Tiles,
    View,
    While,
)
from tile_ir.rewrite import all_effects, declared, walk
from tile_ir.types import i64
from tile_passes.lower.affine import coefficient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.target import TargetSpec

__all__ = ["LINE_BYTES", "Streams"]

LINE_BYTES = 64
L3_SHARE = 2
"""A tensor of one part in so many of the last level is written past it: what is read to make it
takes as much."""
_PLAIN = (
    *(Alloc, Assert, Assume, Atom, Break, Continue, Copy, For, If, Kernel, Let, Parallel, Print),
    *(Store, Tiles, View, While),
)
"""Statements that tell other workers nothing."""


@dataclass(frozen=True, slots=True)
class Streams:
    """What the stores of one function may do."""

    buffers: Mapping[str, Buffer]
    home: Mapping[str, str]
    """Name of a view -> what it is a view of."""
    own: frozenset[str]
    """Memory of the launch itself, which its next kernel reads."""
    spec: TargetSpec

    @staticmethod
    def of(fn: Function, spec: TargetSpec) -> Streams:
        """The streams of a lowered function."""
        statements = list(walk(fn.body))
        home = {s.buffer.name: s.source for s in statements if isinstance(s, View)}
        own = frozenset(s.buffer.name for s in statements if isinstance(s, Alloc))
        return Streams(declared(fn), home, own, spec)

    def of_kernel(self, kernel: Kernel) -> dict[str, Expr]:
        """Name of a tensor -> the condition, true or known at the launch, under which the kernel's
        vector stores to it go past the caches."""
        room = self.spec.capacity("l3") // L3_SHARE
        if not room or any(not _keeps_quiet(s) for s in walk(kernel.body)):
            return {}
        touched = list(all_effects(kernel.body))
        read = {self._root(e.buffer) for e in touched if e.access != Access.WRITE}
        found: dict[str, Expr] = {}
        for name in dict.fromkeys(e.buffer for e in touched if e.access == Access.WRITE):
            root = self._root(name)
            if self.buffers[root].scope != "global" or root in read | self.own:
                continue
            if self._fills_lines(kernel.body, name):
                found[name] = b.ge(_bytes(self.buffers[name]), room)
        return {n: c for n, c in found.items() if not (isinstance(c, Const) and not c.value)}

    def _root(self, name: str) -> str:
        while name in self.home:
            name = self.home[name]
        return name

    def _fills_lines(self, body: Body, name: str) -> bool:
        """Whether a tensor is written by vectors that all are parts of whole lines: single parts
        are worse past the caches than in them."""
        vectors = [
            (s, loop)
            for s, loop in _stores(body)
            if s.buffer == name and isinstance(s.indices[-1], Ramp)
        ]
        return bool(vectors) and all(self._fits(s, loop) for s, loop in vectors)

    def _fits(self, s: Store, loop: For | None) -> bool:
        place = s.indices[-1]
        bits = self.buffers[s.buffer].dtype.storage_bits
        size = run = bits * s.value.dtype.lanes // 8
        if loop is not None and isinstance(place, Ramp) and coefficient(place.base, loop.var) == 1:
            run = _elements(loop) * bits // 8
        machine = self.spec.vector_unit.bytes or 0
        whole = size >= LINE_BYTES or run >= 2 * LINE_BYTES
        return whole and bits >= 8 and 16 <= size <= machine and not size & (size - 1)


def _stores(body: Body, loop: For | None = None) -> Iterator[tuple[Store, For | None]]:
    """Every store to an element or a vector, and the innermost loop around it."""
    for s in body:
        if isinstance(s, Store) and s.indices:
            yield s, loop
        for inner in bodies(s):
            yield from _stores(inner, s if isinstance(s, For) else loop)


def _keeps_quiet(s: object) -> bool:
    return isinstance(s, _PLAIN) or (isinstance(s, Atomic) and s.order == "relaxed")


def _elements(s: For) -> int:
    """Elements that a loop goes through; many where that is not known."""
    ends = (s.start, s.stop, s.step)
    if not all(isinstance(e, Const) for e in ends):
        return 1 << 30
    start, stop, step = (int(e.value) for e in ends if isinstance(e, Const))
    return -(-(stop - start) // step) * step


def _bytes(buffer: Buffer) -> Expr:
    count: Expr = Const(1, i64)
    for extent in buffer.shape:
        count = b.mul(count, b.cast(extent, i64))
    return b.mul(count, buffer.dtype.storage_bits // 8)
