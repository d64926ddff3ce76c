"""Products whose operands are brought step by step, and loops in which the operands of a trip's
first step are brought at the end of the trip before.

A product in a loop over a ring of shared slots begins each trip with a wait, a barrier and loads,
while the matrix units have nothing to do. Turned, a loop does all that before it multiplies the
last step of the trip before, whose operands are in registers already; within a trip the next
step's operands are on their way while one is multiplied.

    loop:  wait, barrier;  fill a later slot;  for each step: load, multiply
    turned:
        wait, barrier;  load step 0
        loop:  load step 1;  fill a later slot;  multiply step 0;  ...
               wait, barrier;  load step 0 of the next trip;  multiply the last step

A slot is filled anew only after the barrier that follows its last load, as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.ops import AsyncCopy, CommitGroup, For, If, Let, SettleCount, Store, Sync
from tile_ir.rewrite import walk
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO
from tile_passes.lower.threads.pieces import Items, Nest, Piece, assemble
from tile_passes.lower.threads.spread import ONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["StepOperands", "Steps", "turned"]


@dataclass(frozen=True, slots=True)
class StepOperands:
    """Registers for the operands of one step: their declaration, what brings them there, and the
    multiplication of what they hold."""

    declared: Piece
    load: Callable[[Expr], Items]
    multiply: Callable[[Expr], Stmt]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps(Nest):
    """A product as a loop over `count` steps along k, with the registers `own`; `operands` gives
    registers for one more step."""

    count: int
    own: StepOperands
    operands: Callable[[], StepOperands]


def turned(loop: Nest, cx: ThreadContext) -> Items:
    """The loop turned as above, or as it is where it has another form."""
    found = _form(loop)
    if found is None:
        return (loop,)
    head, fill, steps = found
    stmt = loop.stmt
    assert isinstance(stmt, For)  # it has the form
    runs = cx.facts.prove(b.lt(stmt.start, stmt.stop)) is True
    enter = _where(head, None if runs else b.lt(stmt.start, stmt.stop))
    again = _where(head, b.lt(b.add(stmt.var, stmt.step), stmt.stop))
    here, other = steps.own, steps.operands()
    last = b.const(steps.count - 1, i32)
    body = (
        *other.load(ONE),
        *fill,
        Piece((here.multiply(ZERO),)),
        *_middle(steps, here, other, cx),
        *again,
        *here.load(ZERO),
        Piece((other.multiply(last),)),
    )
    return (here.declared, other.declared, *enter, *here.load(ZERO), Nest(stmt, (("body", body),)))


def _middle(steps: Steps, here: StepOperands, other: StepOperands, cx: ThreadContext) -> Items:
    """The steps between the first and the last, in pairs: each set of registers has constant
    places."""
    pairs = steps.count // 2 - 1
    if pairs == 0:
        return ()
    pair = cx.names.var("kk")
    even, odd = b.add(b.mul(pair, 2), 2), b.add(b.mul(pair, 2), 3)
    cx.bits[pair] = (1 << pairs.bit_length()) - 1
    inner = (
        *here.load(even),
        Piece((other.multiply(b.add(b.mul(pair, 2), 1)),)),
        *other.load(odd),
        Piece((here.multiply(even),)),
    )
    stop = b.const(pairs, i32)
    head = For(var=pair, start=ZERO, stop=stop, step=ONE, kind="unroll", body=())
    return (Nest(head, (("body", inner),)),)


def _form(loop: Nest) -> tuple[Items, Items, Steps] | None:
    """The wait with its barrier, the fill of a later slot, and the product of a loop that can be
    turned."""
    ((_, items),) = loop.bodies
    if not isinstance(loop.stmt, For) or not items or not isinstance(items[-1], Steps):
        return None
    *before, steps = items
    assert isinstance(steps, Steps)
    met = [i for i, item in enumerate(before) if _has(item, Sync)]
    if len(met) != 1 or steps.count % 2 or not _has(before[met[0]], Sync):
        return None
    head, rest = tuple(before[: met[0] + 1]), before[met[0] + 1 :]
    fill = tuple(item for item in rest if item is not steps.own.declared)
    fits = _only(head, _MEETING) and _only(fill, _FILLING) and _has_any(head, SettleCount)
    return (head, fill, steps) if fits and len(fill) < len(rest) else None


_MEETING = (SettleCount, Sync, If, Store)
_FILLING = (AsyncCopy, CommitGroup, For, If, Let, Store)


def _has(item: Piece | Nest, kind: type[Stmt]) -> bool:
    return any(isinstance(s, kind) for s in walk(assemble((item,))))


def _has_any(items: Items, kind: type[Stmt]) -> bool:
    return any(_has(item, kind) for item in items)


def _only(items: Items, kinds: tuple[type[Stmt], ...]) -> bool:
    """Whether there are only statements of these kinds, of stores those to scalars, and barriers
    only for the whole block."""
    return all(
        isinstance(s, kinds)
        and (not isinstance(s, Store) or not s.indices)
        and (not isinstance(s, Sync) or s.scope == "block")
        for s in walk(assemble(items))
    )


def _where(head: Items, cond: Expr | None) -> Items:
    """The wait with its barrier, stepping to the next slot only where `cond` holds: an end of a
    channel does not move without its slot."""
    if cond is None:
        return head
    out: list[Piece | Nest] = []
    steps: list[Piece | Nest] = []
    for item in head:
        (steps if _only((item,), (If, Store)) else out).append(item)
    if steps:
        out.insert(0, Nest(If(cond=cond, then=()), (("then", tuple(steps)),)))
    return tuple(out)
