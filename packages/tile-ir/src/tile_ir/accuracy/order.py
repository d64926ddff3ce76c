"""Whether two runs of a program give the same bits: what the order of threads decides, if
anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.ops import Atomic, AtomicTile
from tile_ir.rewrite import declared, walk

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_ir.types import DType

__all__ = ["Order", "order_of"]

_COMMUTE = frozenset({"add", "max", "min", "and", "or", "xor"})
"""Updates of integers whose order does not matter; of floats only `max` and `min` are such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """`kind` is "bitwise" (any two runs give the same bits) or "order-dependent"; `reasons` name
    the statements that the order of threads shows in."""

    kind: str
    reasons: tuple[str, ...] = ()


def order_of(fn: Function) -> Order:
    """The determinism of a program at stage `tile`, by its statements."""
    types = {name: b.dtype for name, b in declared(fn).items()}
    found = (_reason(s, types) for s in walk(fn.body))
    reasons = tuple(dict.fromkeys(r for r in found if r))
    return Order(kind="order-dependent" if reasons else "bitwise", reasons=reasons)


def _reason(s: Stmt, types: dict[str, DType]) -> str:
    """What the order of threads shows in at a statement; empty where it shows in nothing."""
    if isinstance(s, Atomic):
        name, told = s.buffer, s.result is not None
    elif isinstance(s, AtomicTile):
        name, told = s.dst.buffer, False
    else:
        return ""
    where = "" if s.span is None else f" at {s.span}"
    if told:
        return f"atomic {s.kind} of {name} gives back what was there before{where}"
    if s.kind == "add" and types[name].is_float:
        return f"sums of floats in {name} are rounded in the order of arrival{where}"
    return "" if s.kind in _COMMUTE else f"the last atomic {s.kind} of {name} stays{where}"
