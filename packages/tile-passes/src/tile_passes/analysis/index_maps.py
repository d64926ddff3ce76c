"""Indices that are put together from digits of a loop's variables, and layouts seen through them.

`words[i % 64, j % 8 // 2 * 4 + j // 32]` takes the lower part of i along its first axis and two
parts of j, the other way round, along its second one. Where a layout cuts a variable at the same
places, the element that an iteration means is given by digits too: a thread has it, or has not, and
its register is known when the kernel is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Const, Expr, Var
from tile_ir.layout import Digit, FragmentLayout, coalesce_digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tile_ir.ops import Parallel

__all__ = ["IndexMap", "Piece", "index_map", "seen_through", "sub_digits"]


@dataclass(frozen=True, slots=True)
class Piece:
    """`(variable // place) % extent * stride`, a summand of an index."""

    variable: int
    """Which of the loop's variables."""
    place: int
    extent: int
    stride: int

    @property
    def end(self) -> int:
        """The place of the next digit of the variable."""
        return self.place * self.extent


IndexMap = tuple[tuple[Piece, ...], ...]
"""The summands of each index."""


def index_map(indices: Sequence[Expr], loop: Parallel) -> IndexMap | None:
    """What each index takes from which variable; None where an index is anything else, or two
    summands take the same part of one variable."""
    if not all(isinstance(e, Const) for e in loop.extents):
        return None
    made = []
    for index in indices:
        pieces = _pieces(index, loop)
        if pieces is None:
            return None
        made.append(tuple(pieces))
    taken = sorted((p.variable, p.place, p.end) for pieces in made for p in pieces)
    if any(one == other and place < end for (one, _, end), (other, place, _) in pairwise(taken)):
        return None
    return tuple(made)


def _pieces(e: Expr, loop: Parallel) -> list[Piece] | None:
    if isinstance(e, Var) and e in loop.vars:
        at = loop.vars.index(e)
        return [Piece(at, 1, int(loop.extents[at].value), 1)]  # type: ignore[attr-defined]  # the caller asked
    if isinstance(e, Const):
        return [] if e.value == 0 else None
    if not isinstance(e, Binary):
        return None
    if e.op == "add":
        one, other = _pieces(e.a, loop), _pieces(e.b, loop)
        return None if one is None or other is None else one + other
    if not isinstance(e.b, Const) or int(e.b.value) < 1:
        return None
    inner, by = _pieces(e.a, loop), int(e.b.value)
    if inner is None:
        return None
    if e.op == "mul":
        return [replace(p, stride=p.stride * by) for p in inner]
    if e.op in ("floordiv", "floormod"):
        return _cut(inner, by, upper=e.op == "floordiv")
    return None


def _cut(pieces: list[Piece], by: int, *, upper: bool) -> list[Piece] | None:
    """The quotient or the rest of a sum; None where a carry can cross the cut, or the cut falls
    inside a digit that it does not divide."""
    out = []
    reached = 1
    for p in sorted(pieces, key=lambda p: p.stride):
        if p.stride < reached:
            return None
        reached = p.stride * p.extent
        if p.stride % by == 0:
            out += [replace(p, stride=p.stride // by)] if upper else []
        elif reached <= by:
            out += [] if upper else [p]
        elif by % p.stride or p.extent % (by // p.stride):
            return None
        else:
            low = by // p.stride
            out.append(
                Piece(p.variable, p.place * low, p.extent // low, 1)
                if upper
                else replace(p, extent=low)
            )
    return out


def sub_digits(digit: Digit, variable: int, through: IndexMap) -> tuple[Digit, ...] | None:
    """A digit of a variable cut at the pieces that indices take of it, as digits of the buffer's
    axes; what no index takes moves nowhere. None where a piece's end falls inside a part."""
    taken = sorted(
        ((p, axis) for axis, pieces in enumerate(through) for p in pieces),
        key=lambda at: at[0].place,
    )
    out = []
    place, end = digit.stride, digit.stride * digit.extent
    while place < end:
        of_variable = [at for at in taken if at[0].variable == variable and at[0].end > place]
        piece, axis = of_variable[0] if of_variable else (None, 0)
        inside = piece is not None and piece.place <= place
        stop = end if piece is None else min(end, piece.end if inside else piece.place)
        if stop % place:
            return None
        extent = stop // place
        if piece is None or not inside:
            out.append(Digit(extent))
        elif place % piece.place:
            return None
        else:
            out.append(Digit(extent, f"d{axis}", piece.stride * (place // piece.place)))
        place = stop
    return tuple(out)


def seen_through(layout: FragmentLayout, through: IndexMap) -> FragmentLayout | None:
    """Who meets which element of a buffer where iterations lie as `layout`, whose axes are `d0`,
    `d1`, ...; None where no digits say it. Values that meet no other element are left out."""
    thread, value, group = (
        _all(part, through) for part in (layout.thread, layout.value, layout.group)
    )
    if thread is None or value is None or group is None:
        return None
    return FragmentLayout(
        thread=coalesce_digits(thread),
        value=coalesce_digits([d for d in value if d.axis is not None]),
        group=coalesce_digits(group),
        outputs=tuple(f"d{axis}" for axis in range(len(through))),
    )


def _all(digits: Sequence[Digit], through: IndexMap) -> list[Digit] | None:
    out: list[Digit] = []
    for made in _cut_digits(digits, through):
        if made is None:
            return None
        out += made
    return out


def _cut_digits(digits: Sequence[Digit], through: IndexMap) -> Iterator[tuple[Digit, ...] | None]:
    for digit in digits:
        if digit.axis is None:
            yield (digit,)
        else:
            yield sub_digits(digit, int(digit.axis[1:]), through)
