"""Lanes of halves that the language makes and takes by selections, read off again.

A word that holds a pair is that pair, and one lane of a pair is the upper or the lower half of its
word. As selections both would be taken apart into conversions and comparisons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Bitcast, Broadcast, Call, Cast, Const, Expr, Ramp, Select
from tile_ir.numerics import literal_bits
from tile_ir.types import f16, u16
from tile_passes.emit.packed_halves import DECODE, is_pair

if TYPE_CHECKING:
    from tile_passes.emit.exprs import ExprPrinter

__all__ = ["code_of_half", "text_of_half"]

_HALF_BITS, _WORD_BITS = 16, 32


def text_of_half(exprs: ExprPrinter, e: Expr) -> str | None:
    """The text of a pair that a word holds, of a constant in every lane, or of one lane of a pair;
    None for what is nothing of these."""
    if isinstance(e, Broadcast) and isinstance(e.a, Const) and is_pair(e.dtype):
        bits = literal_bits(e.a.value, f16)
        return f"tile_splat<{e.dtype.lanes}>(({exprs.dialect.storage(f16)}){hex(bits)})"
    if e.dtype.lanes == 2 and is_pair(e.dtype):
        word = _word_of(e)
        return None if word is None else f"tile_halves_of({exprs.value(word)})"
    code = code_of_half(exprs, e)
    return None if code is None else f"{DECODE}{code})"


def code_of_half(exprs: ExprPrinter, e: Expr) -> str | None:
    """The bits of one lane of a pair."""
    found = _lane_of(e)
    return None if found is None else f"tile_half({', '.join(map(exprs.value, found))})"


def _word_of(e: Expr) -> Expr | None:
    """The word whose lower half is the first lane, and whose upper half is the second."""
    if not isinstance(e, Select):
        return None
    number = _numbered(e.cond)
    if not (isinstance(number, Const) and number.value == 0):
        return None
    if not (isinstance(e.t, Broadcast) and isinstance(e.f, Broadcast)):
        return None
    low, high = _half_of(e.t.a), _half_of(e.f.a)
    if low is None or high is None or low[1] != 0 or high[1] != _HALF_BITS:
        return None
    return low[0] if low[0] is high[0] else None


def _numbered(cond: Expr) -> Expr | None:
    """What the number of each lane is compared with."""
    if not (isinstance(cond, Binary) and cond.op == "eq" and isinstance(cond.b, Broadcast)):
        return None
    counts = isinstance(cond.a, Ramp) and cond.a.stride == 1 and isinstance(cond.a.base, Const)
    return cond.b.a if counts and cond.a.base.value == 0 else None  # type: ignore[attr-defined]  # a ramp


def _half_of(e: Expr) -> tuple[Expr, int] | None:
    """A word, and the bit of it where the half begins whose number this is."""
    if not (isinstance(e, Bitcast) and e.dtype is f16 and isinstance(e.a, Cast)):
        return None
    word = e.a.a
    if e.a.dtype is not u16 or word.dtype.bits != _WORD_BITS:
        return None
    if isinstance(word, Binary) and word.op == "shr" and word.b == Const(_HALF_BITS, word.b.dtype):
        return word.a, _HALF_BITS
    return word, 0


def _lane_of(e: Expr) -> tuple[Expr, Expr] | None:
    """A pair and the lane of it that is left where the other is made to lose."""
    if not (isinstance(e, Call) and e.fn == "max_lanes" and isinstance(e.args[0], Select)):
        return None
    chosen = e.args[0]
    number = _numbered(chosen.cond)
    if number is None or chosen.dtype.lanes != 2 or not is_pair(chosen.dtype):
        return None
    loses = isinstance(chosen.f, Broadcast) and chosen.f.a == Const(float("-inf"), f16)
    return (chosen.t, number) if loses else None
