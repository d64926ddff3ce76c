"""Index arithmetic on a thread's number: its bounds, and whether threads differ in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_frontend.trace.per_thread.varying import is_thread
from tile_ir import build as b
from tile_ir.expr import Binary, Call, Cast, Const, Expr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["bounds", "one_thread_each"]

Bounds = tuple[Expr, Expr]

_EXACT: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "floormod": lambda x, y: x % y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y,
    "min": min,
    "max": max,
}


def value_at(e: Expr, thread: int) -> int | None:
    """The value of an integer expression over the thread's number alone."""
    if is_thread(e):
        return thread
    if isinstance(e, Const) and e.dtype.is_int:
        return int(e.value)
    if isinstance(e, Cast) and e.dtype.is_int:
        return value_at(e.a, thread)
    if not isinstance(e, Binary) or e.op not in _EXACT:
        return None
    x, y = value_at(e.a, thread), value_at(e.b, thread)
    if x is None or y is None or (e.op in ("floordiv", "floormod") and y == 0):
        return None
    if e.op in ("shl", "shr") and not 0 <= y < e.dtype.bits:
        return None
    return _EXACT[e.op](x, y)


def _own_part(e: Expr, uniform: Callable[[Expr], bool]) -> list[Expr] | None:
    """The terms of a sum that depend on the thread, each over its number alone; None when one
    depends on something else that differs by thread."""
    if uniform(e):
        return []
    if isinstance(e, Cast) and e.dtype.is_int:
        return _own_part(e.a, uniform)
    if value_at(e, 0) is not None:
        return [e]
    if isinstance(e, Binary) and e.op == "add":
        left, right = _own_part(e.a, uniform), _own_part(e.b, uniform)
        return None if left is None or right is None else left + right
    if isinstance(e, Binary) and e.op == "sub":
        left, right = _own_part(e.a, uniform), _own_part(e.b, uniform)
        if left is None or right is None:
            return None
        return left + [b.sub(0, x) for x in right]
    return None


def one_thread_each(indices: Sequence[Expr], threads: int, uniform: Callable[[Expr], bool]) -> bool:
    """Whether no two threads mean the same element by these indices.

    `uniform` tells whether a value is the same in all threads as long as the statements in question
    run.
    """
    parts = []
    for e in indices:
        found = _own_part(_without_stride(e, uniform), uniform)
        if found is None:
            continue  # what it does to other axes does not matter
        parts.append(found)
    places = set()
    for t in range(threads):
        place = tuple(sum(value_at(x, t) or 0 for x in terms) for terms in parts)
        places.add(place)
    return len(places) == threads


def _without_stride(e: Expr, uniform: Callable[[Expr], bool]) -> Expr:
    """A product with a number that all threads share, without it: it keeps threads apart unless it
    is 0, and then there is nothing to index."""
    if isinstance(e, Binary) and e.op == "add":
        if uniform(e.b):
            return _without_stride(e.a, uniform)
        if uniform(e.a):
            return _without_stride(e.b, uniform)
    if isinstance(e, Binary) and e.op == "mul":
        if uniform(e.b) and not isinstance(e.b, Const):
            return _without_stride(e.a, uniform)
        if uniform(e.a) and not isinstance(e.a, Const):
            return _without_stride(e.b, uniform)
    return e


def bounds(e: Expr, threads: int, uniform: Callable[[Expr], bool]) -> Bounds | None:
    """The least and the largest value that an index has in any thread, as values that all threads
    share; None when that is not known."""
    if uniform(e):
        return e, e
    exact = [value_at(e, t) for t in range(threads)]
    known = [x for x in exact if x is not None]
    if len(known) == threads:
        return b.const(min(known), e.dtype), b.const(max(known), e.dtype)
    if isinstance(e, Cast) and e.dtype.is_int and e.a.dtype.is_int:
        inner = bounds(e.a, threads, uniform)
        return None if inner is None else (b.cast(inner[0], e.dtype), b.cast(inner[1], e.dtype))
    if not isinstance(e, Binary):
        return None
    left, right = bounds(e.a, threads, uniform), bounds(e.b, threads, uniform)
    if left is None or right is None:
        return None
    return _combined(e, left, right)


def _combined(e: Binary, left: Bounds, right: Bounds) -> Bounds | None:
    if e.op == "add":
        return b.add(left[0], right[0]), b.add(left[1], right[1])
    if e.op == "sub":
        return b.sub(left[0], right[1]), b.sub(left[1], right[0])
    if e.op == "min":
        return b.minimum(left[0], right[0]), b.minimum(left[1], right[1])
    if e.op == "max":
        return b.maximum(left[0], right[0]), b.maximum(left[1], right[1])
    if right[0] is not right[1]:
        return None
    by = right[0]
    if e.op == "mul" and isinstance(by, Const):
        ends = b.mul(left[0], by), b.mul(left[1], by)
        return ends if by.value >= 0 else (ends[1], ends[0])
    if e.op == "floordiv" and _is_positive(by):
        return b.floordiv(left[0], by), b.floordiv(left[1], by)
    if e.op == "floormod" and _is_positive(by):
        return b.const(0, e.dtype), b.sub(by, 1)
    return None


def _is_positive(e: Expr) -> bool:
    if isinstance(e, Call):
        return e.fn == "warp_width"
    return isinstance(e, Const) and e.value > 0
