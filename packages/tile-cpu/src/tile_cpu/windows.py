"""Vectors whose elements lie near each other: one load and one shuffle instead of a load for each.

A loop that spreads packed data (codes of four weights in a byte, one scale for 32 numbers) reads
element `j >> 2` in iteration j. Sixteen iterations in a row then read a window of a few elements
that begins at a known multiple: the window is loaded as a vector, and constants say which of its
elements each lane takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.c_dialect import gathered_near
from tile_ir import build as b
from tile_ir.expr import Binary, Broadcast, Cast, Const, Expr, Ramp, Var
from tile_ir.ops import For
from tile_ir.rewrite import bound_vars, walk
from tile_passes.emit import ExprPrinter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.expr import Load

__all__ = ["CExprPrinter", "Window", "multiples", "window_of"]

LEAST_BYTES = 4
"""Windows are loaded as vectors of at least so many bytes."""
MOST_ELEMENTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Lane i takes element `base + offsets[i]`; `base` is a multiple of `unit` (0: it is zero)."""

    base: Expr
    unit: int
    offsets: tuple[int, ...]


def multiples(fn: Function) -> dict[Var, int]:
    """Loop variables of a function that are multiples of more than one wherever they are bound."""
    found: dict[Var, int] = {}
    for s in walk(fn.body):
        for v in bound_vars(s):
            found[v] = math.gcd(found.get(v, 0), _step(s) if isinstance(s, For) else 1)
    return {v: n for v, n in found.items() if n > 1}


def _step(loop: For) -> int:
    if isinstance(loop.start, Const) and isinstance(loop.step, Const):
        return math.gcd(int(loop.start.value), int(loop.step.value))
    return 1


def window_of(e: Expr, known: Mapping[Var, int]) -> Window | None:
    """What the lanes of a vector of indices are, None where that is not known."""
    if isinstance(e, Ramp):
        offsets = tuple(i * e.stride for i in range(e.dtype.lanes))
        return Window(base=e.base, unit=_unit(e.base, known), offsets=offsets)
    if isinstance(e, Broadcast) and isinstance(e.a, Const):
        same = (int(e.a.value),) * e.dtype.lanes
        return Window(base=b.const(0, e.a.dtype), unit=0, offsets=same)
    if isinstance(e, Broadcast):
        return Window(base=e.a, unit=_unit(e.a, known), offsets=(0,) * e.dtype.lanes)
    if not isinstance(e, Binary):
        return None
    first = window_of(e.a, known)
    if first is None:
        return None
    if e.op == "add":
        return _sum(first, window_of(e.b, known))
    if not (isinstance(e.b, Broadcast) and isinstance(e.b.a, Const)):
        return None
    rule = _BY_CONSTANT.get(e.op)
    return None if rule is None or min(first.offsets) < 0 else rule(first, int(e.b.a.value))


def _unit(e: Expr, known: Mapping[Var, int]) -> int:
    if isinstance(e, Const):
        return abs(int(e.value))
    if isinstance(e, Var):
        return known.get(e, 1)
    if isinstance(e, Cast) and e.a.dtype.is_int:
        return _unit(e.a, known)
    if isinstance(e, Binary) and e.op in ("add", "sub", "mul"):
        parts = (_unit(e.a, known), _unit(e.b, known))
        return math.prod(parts) if e.op == "mul" else math.gcd(*parts)
    return 1


def _sum(a: Window, c: Window | None) -> Window | None:
    if c is None:
        return None
    offsets = tuple(x + y for x, y in zip(a.offsets, c.offsets, strict=True))
    return Window(base=b.add(a.base, c.base), unit=math.gcd(a.unit, c.unit), offsets=offsets)


def _times(w: Window, by: int) -> Window | None:
    if by < 0:
        return None
    offsets = tuple(x * by for x in w.offsets)
    return Window(base=b.mul(w.base, by), unit=w.unit * by, offsets=offsets)


def _shifted(w: Window, by: int) -> Window | None:
    size = 1 << by
    if w.unit % size == 0:
        offsets = tuple(x >> by for x in w.offsets)
        return Window(base=b.shr(w.base, by), unit=w.unit >> by, offsets=offsets)
    if size % w.unit == 0 and max(w.offsets) < w.unit:  # no lane goes beyond a multiple of `size`
        return Window(base=b.shr(w.base, by), unit=1, offsets=(0,) * len(w.offsets))
    return None


def _masked(w: Window, by: int) -> Window | None:
    if by & (by + 1) or w.unit % (by + 1):
        return None
    return Window(base=b.const(0, w.base.dtype), unit=0, offsets=tuple(x & by for x in w.offsets))


_BY_CONSTANT = {"mul": _times, "shr": _shifted, "and": _masked}


def _width(w: Window, buffer: Buffer) -> int | None:
    """Elements of the vector that holds a window and does not leave its row; None for none."""
    last, bits = buffer.shape[-1], buffer.dtype.storage_bits
    if min(w.offsets) < 0 or max(w.offsets) >= MOST_ELEMENTS or bits < 8:
        return None
    if len(set(w.offsets)) == 1:
        return 1
    width = max(1 << max(w.offsets).bit_length(), 8 * LEAST_BYTES // bits)
    fits = isinstance(last, Const) and int(last.value) % width == 0 and w.unit % width == 0
    return width if fits else None


class CExprPrinter(ExprPrinter):
    """Prints gathers of near elements as a load and a shuffle; `known` are the variables that are
    multiples of a number."""

    known: Mapping[Var, int] = {}

    def gather(self, e: Load, buffer: Buffer, last: Expr) -> str:
        """The text of a vector whose elements lie at the indices `last` of the last axis."""
        w = window_of(last, self.known)
        width = None if w is None else _width(w, buffer)
        if w is None or width is None:
            return super().gather(e, buffer, last)
        first = b.add(w.base, w.offsets[0]) if width == 1 else w.base
        at = self.offset(buffer, (*e.indices[:-1], first))
        return gathered_near(e.dtype, self.name(e.buffer), at, width, w.offsets)
