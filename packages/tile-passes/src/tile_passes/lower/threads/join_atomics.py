"""Additions to neighbours in memory as one of a vector, where the target has such.

A thread that adds its registers to memory does it in unrolled loops. Where the innermost of them,
taken together, go through neighbours on both sides, in order and from a multiple of the vector on,
they become one. Where an element goes depends on the thread's number by shifts and masks, so that
is tried for every thread instead of being derived.

    before:  for i in (0, 2, 1) unroll { for j in (0, 2, 1) unroll {
               atomic add S[t * 4 + i * 2 + j], r[i * 2 + j] } }
    after:   atomic add S[ramp(t * 4, 1, 4)], r[ramp(0, 1, 4)]
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import product, repeat
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Call, Cast, Const, Expr, Load, Var, free_vars
from tile_ir.ops import Atomic, For, Let
from tile_ir.rewrite import map_bodies, replace, substitute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt

__all__ = ["join_atomics"]

_LANES = (4, 2)
_MOST_POINTS = 1 << 17
"""Iterations of all threads that are tried; more take too long."""
_OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def join_atomics(
    body: Body, buffers: Mapping[str, Buffer], kinds: Sequence[str], threads: int
) -> Body:
    """The body of a kernel of so many threads with vectors of the `kinds` that can be added."""
    return _Walk(buffers, frozenset(kinds), threads).body(body, {})


@dataclass(frozen=True, slots=True)
class _Walk:
    buffers: Mapping[str, Buffer]
    kinds: frozenset[str]
    threads: int

    def body(self, body: Body, known: Mapping[Var, Expr]) -> Body:
        """`known`: what variables are bound to."""
        inner = dict(known)
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Let):
                inner[s.var] = s.value
            out.append(self._stmt(s, inner))
        return body if all(x is y for x, y in zip(out, body, strict=True)) else tuple(out)

    def _stmt(self, s: Stmt, known: Mapping[Var, Expr]) -> Stmt:
        nest = _nest(s)
        if nest is None:
            return map_bodies(s, lambda body: self.body(body, known))
        loops, one = nest
        for lanes in _LANES:
            made = self._joined(loops, one, lanes, known)
            if made is not None:
                return made
        return s

    def _joined(
        self, loops: list[For], one: Atomic, lanes: int, known: Mapping[Var, Expr]
    ) -> Stmt | None:
        """The nest with the innermost loops as one vector of `lanes`, None where that is none."""
        count = next((n for n in range(1, len(loops) + 1) if _trips(loops[-n:]) == lanes), 0)
        far, near = self.buffers[one.buffer], one.value
        vector = far.dtype.with_lanes(lanes)
        if not count or vector.name not in self.kinds or not isinstance(near, Load):
            return None
        if self.threads * _trips(loops) > _MOST_POINTS:
            return None
        if far.scope != "global" or far.strides is not None or len(near.indices) != 1:
            return None
        outer, inner = loops[:-count], loops[-count:]
        points = _Points(outer, inner, known, self.threads)
        *above, last = one.indices
        width = far.shape[-1]
        whole = isinstance(width, Const) and int(width.value) % lanes == 0
        if not whole or not all(points.moves(e, 0, 1) for e in above):
            return None
        if not points.moves(last, 1, lanes) or not points.moves(near.indices[0], 1, 1):
            return None
        at_first = substitute({loop.var: b.const(0, loop.var.dtype) for loop in inner})
        starts = [at_first(e) for e in (*above, last, near.indices[0])]
        joined: Stmt = replace(
            one,
            indices=(*starts[:-2], b.ramp(starts[-2], 1, lanes)),
            value=Load(near.buffer, (b.ramp(starts[-1], 1, lanes),), vector),
        )
        for loop in reversed(outer):
            joined = replace(loop, body=(joined,))
        return joined


def _nest(s: Stmt) -> tuple[list[For], Atomic] | None:
    """Unrolled loops around one addition that returns nothing, outermost first."""
    loops: list[For] = []
    while isinstance(s, For) and s.kind == "unroll" and len(s.body) == 1 and _trips([s]):
        loops.append(s)
        s = s.body[0]
    adds = isinstance(s, Atomic) and s.kind == "add" and s.result is None and not s.clip
    return (loops, s) if loops and adds and isinstance(s, Atomic) else None


def _trips(loops: Sequence[For]) -> int:
    """How often the body of loops from 0 in steps of 1 runs, 0 for others."""
    count = 1
    for x in loops:
        if not (isinstance(x.start, Const) and isinstance(x.stop, Const)):
            return 0
        if x.start.value != 0 or not isinstance(x.step, Const) or x.step.value != 1:
            return 0
        count *= int(x.stop.value)
    return count


class _Points:
    """All iterations of all threads, those of the inner loops next to each other."""

    def __init__(
        self, outer: Sequence[For], inner: Sequence[For], known: Mapping[Var, Expr], threads: int
    ) -> None:
        loops = [*outer, *inner]
        points = list(product(range(threads), *(range(_trips([x])) for x in loops)))
        self.threads, *columns = (list(column) for column in zip(*points, strict=True))
        self.at = dict(zip((x.var for x in loops), columns, strict=True))
        self.inner, self.lanes, self.known = {x.var for x in inner}, _trips(inner), known

    def moves(self, e: Expr, by: int, multiple: int) -> bool:
        """Whether `e` goes up by `by` with each iteration of the inner loops taken together, from
        a multiple of `multiple` on."""
        if by == 0 and not free_vars(e) & self.inner:
            return True
        found = self.value(e)
        if found is None or isinstance(found, int):
            return found is not None and by == 0 and found % multiple == 0
        firsts = found[:: self.lanes]
        steady = all(
            found[lane :: self.lanes] == [x + by * lane for x in firsts]
            for lane in range(1, self.lanes)
        )
        return steady and not any(x % multiple for x in firsts)

    def value(self, e: Expr) -> list[int] | int | None:
        """The value of an integer expression at every point, a number where it is the same
        everywhere, None where it is not known."""
        if isinstance(e, Const):
            return int(e.value)
        if isinstance(e, Var):
            bound = self.known.get(e)
            return self.at[e] if e in self.at else None if bound is None else self.value(bound)
        if isinstance(e, Cast) and e.dtype.is_int:
            return self.value(e.a)
        if isinstance(e, Call) and e.fn == "thread_index":
            return self.threads
        if not isinstance(e, Binary) or e.op not in _OPERATORS:
            return None
        left, right = self.value(e.a), self.value(e.b)
        if left is None or right is None:
            return None
        act = _OPERATORS[e.op]
        if isinstance(left, int) and isinstance(right, int):
            return int(act(left, right))
        return list(map(act, _every(left), _every(right)))


def _every(x: list[int] | int) -> Iterable[int]:
    return repeat(x) if isinstance(x, int) else x
