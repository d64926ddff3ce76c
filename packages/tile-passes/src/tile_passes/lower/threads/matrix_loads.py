"""Operands of matrix instructions from shared memory by the whole warp at once, and results back.

A warp's matrix instruction wants pairs of elements spread over its lanes in 8x8 matrices. Loading
them lane by lane costs one access for each pair, or each element where memory runs the other way;
where the target can, each lane names one row of 8 elements instead and the rows are dealt out on
the way, four matrices at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.layout import Digit, Digits, cut_digits, places
from tile_ir.ops import MatrixLoad, MatrixStore
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO, digit
from tile_passes.lower.threads.alignment import run_in_memory
from tile_passes.lower.threads.pieces import Piece
from tile_passes.lower.threads.spread import Loop, loops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Stmt
    from tile_passes.lower.threads.context import ThreadContext
    from tile_passes.lower.threads.moves import Side

__all__ = ["can_store_matrices", "load_matrices", "store_matrices"]

_SIDE = 8
"""Rows and columns of a matrix."""
_LANES = 32
_ELEMENT_BITS = 16


@dataclass(frozen=True, slots=True)
class _Matrices:
    """A layout seen as matrices: which axis their memory rows are counted along, whether they are
    turned on the way, the matrices of one load, and what is left for warps and loops."""

    row_axis: str
    transpose: bool
    together: Digits
    repeats: Digits
    warps: Digits

    @property
    def count(self) -> int:
        """How many matrices one load brings: 1, 2 or 4."""
        out = 1
        for d in self.together:
            out *= d.extent
        return out


def load_matrices(
    a: Side,
    c: Side,
    layout: FragmentLayout,
    extents: Sequence[int],
    cx: ThreadContext,
    span: Span | None,
) -> Piece | None:
    """The loads that fill registers `c`, which lie as `layout` says, from shared tile `a`.

    None where the target, the types, the alignment or the layout do not allow it.
    """
    if not _allowed(a, c, cx) or layout.output_shape != tuple(extents):
        return None
    found = _as_matrices(layout, cx)
    if found is None:
        return None
    if run_in_memory(a.buffer, a.region, a.axes[-1], _SIDE, cx, clip=False) < _SIDE:
        return None
    return _moves(a, c, layout, found, cx, span, out=False)


def store_matrices(
    a: Side,
    c: Side,
    layout: FragmentLayout,
    extents: Sequence[int],
    cx: ThreadContext,
    span: Span | None,
) -> Piece | None:
    """The stores that bring registers `a`, which lie as `layout` says, to shared tile `c`.

    None where the target, the types, the alignment or the layout do not allow it.
    """
    if not (_allowed(c, a, cx) and cx.target.has("matrix_store")):
        return None
    found = _as_matrices(layout, cx) if layout.output_shape == tuple(extents) else None
    if found is None:
        return None
    if run_in_memory(c.buffer, c.region, c.axes[-1], _SIDE, cx, clip=False) < _SIDE:
        return None
    return _moves(c, a, layout, found, cx, span, out=True)


def can_store_matrices(a: Side, c: Side, cx: ThreadContext) -> bool:
    """Whether registers would go to shared memory as matrices if they had its type."""
    return (
        (a.buffer.scope, c.buffer.scope) == ("fragment", "shared")
        and c.buffer.dtype.storage_bits == _ELEMENT_BITS
        and c.buffer.dtype.is_float
        and cx.target.has("matrix_store")
    )


def _allowed(a: Side, c: Side, cx: ThreadContext) -> bool:
    return (
        (a.buffer.scope, c.buffer.scope) == ("shared", "fragment")
        and a.buffer.dtype is c.buffer.dtype
        and a.buffer.dtype.storage_bits == _ELEMENT_BITS
        and cx.target.warp_width == _LANES
        and cx.threads % _LANES == 0
    )


def _as_matrices(layout: FragmentLayout, cx: ThreadContext) -> _Matrices | None:
    """thread (4:x*2, 8:y*1, warps) value (2:x*1, multiples of 8) is a warp's matrices."""
    lanes, pair = cut_digits(layout.thread, _LANES), cut_digits(layout.value, 2)
    if lanes is None or pair is None or len(lanes[0]) != 2 or len(pair[0]) != 1:
        return None
    across, down = lanes[0]
    x, y = across.axis, down.axis
    if x is None or y is None or x == y:
        return None
    if (across, down, pair[0][0]) != (Digit(4, x, 2), Digit(_SIDE, y, 1), Digit(2, x, 1)):
        return None
    if any(d.stride % _SIDE for d in (*lanes[1], *pair[1])):
        return None
    transpose = y == layout.outputs[-1]
    if not transpose and x != layout.outputs[-1]:
        return None
    if not cx.target.has("matrix_transpose_load" if transpose else "matrix_load"):
        return None
    cuts = (cut_digits(pair[1], n) for n in (4, 2, 1))
    together, repeats = next(cut for cut in cuts if cut is not None)
    return _Matrices(x if transpose else y, transpose, together, repeats, lanes[1])


def _moves(
    a: Side,
    c: Side,
    layout: FragmentLayout,
    found: _Matrices,
    cx: ThreadContext,
    span: Span | None,
    *,
    out: bool,
) -> Piece:
    """From shared tile `a` to registers `c`, or `out` again."""
    held = 2 * found.count
    made = tuple(
        Loop(cx.names.var("v"), held * place, d)
        for place, d in zip(places(found.repeats), found.repeats, strict=True)
    )
    at: list[Expr] = []
    for axis in layout.outputs:
        base = cx.bind(f"t{axis[1:]}", _named_row(found, axis, cx.thread))
        for loop in made:
            if loop.digit.axis == axis:
                base = b.add(base, b.mul(loop.var, loop.digit.stride))
        at.append(base)
    cx.note_loops(made)
    order = a.box_axes()
    indices = [
        r.start if i is None else b.add(r.start, at[i])
        for r, i in zip(a.region.ranges, order, strict=True)
    ]
    (start,) = cx.place(a.buffer, indices)
    register: Expr = ZERO
    for loop in made:
        register = b.add(register, b.mul(loop.var, loop.place))
    row = Region(a.buffer.name, (Range(start, b.const(_SIDE, i32)),))
    part = Region(c.buffer.name, (Range(register, b.const(held, i32)),))
    one: Stmt = MatrixLoad(row=row, dst=part, transpose=found.transpose, span=span)
    if out:
        one = MatrixStore(row=row, src=part, transpose=found.transpose, span=span)
    return Piece(loops(made, (one,), span))


def _named_row(found: _Matrices, axis: str, thread: Expr) -> Expr:
    """Where along `axis` the row begins that a thread names: its warp's place, the place of the
    matrix, the row within it."""
    total: Expr = ZERO
    last = len(found.warps) - 1
    for i, (place, d) in enumerate(zip(places(found.warps), found.warps, strict=True)):
        if d.axis == axis:
            here = digit(thread, _LANES * place, None if i == last else d.extent)
            total = b.add(total, b.mul(here, d.stride))
    for place, d in zip(places(found.together), found.together, strict=True):
        if d.axis == axis:
            total = b.add(total, b.mul(digit(thread, _SIDE * place, d.extent), d.stride))
    if axis == found.row_axis:
        total = b.add(total, digit(thread, 1, _SIDE))
    return total
