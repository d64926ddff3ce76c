"""A product into a tile that was just zeroed overwrites it instead: no zeroing, and no read of the
accumulator.

Matrix engines can ignore the old accumulator by a predicate, so a separate fill costs time and,
worse, serializes the fill with products in flight. Zeroed before a loop, the first trip overwrites;
a loop that may have no trip keeps the fill under that condition. What a branch leaves out of the
first trip does not stand in the way. Differs from the literal program
in the sign of a zero sum only, so `strict` numerics keep it.

    before:
        func @f(A: global f16[16, 64], B: global f16[64, 16], C: global f32[16, 16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc C_l: fragment f32[16, 16]
              fill C_l[:, :], 0.0
              for k in (0, 4, 1) pipelined {
                alloc A_s: shared f16[16, 16]
                alloc B_s: shared f16[16, 16]
                copy A[:, k * 16 : +16] -> A_s[:, :]
                copy B[k * 16 : +16, :] -> B_s[:, :]
                gemm A_s[:, :], B_s[:, :] -> C_l[:, :]
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @f(A: global f16[16, 64], B: global f16[64, 16], C: global f32[16, 16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc C_l: fragment f32[16, 16]
              for k in (0, 4, 1) pipelined {
                alloc A_s: shared f16[16, 16]
                alloc B_s: shared f16[16, 16]
                copy A[:, k * 16 : +16] -> A_s[:, :]
                copy B[k * 16 : +16, :] -> B_s[:, :]
                gemm A_s[:, :], B_s[:, :] -> C_l[:, :] init = k == 0
              }
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const
from tile_ir.opdef import Body, Stmt, bodies
from tile_ir.ops import Break, Continue, Fill, For, Gemm, If
from tile_ir.rewrite import all_effects, declared, map_bodies, replace, substitute, with_body
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.schedules import scheduled_by_hand

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function, Region
    from tile_passes.plan.model import Plan


def _touches(stmt: Stmt, buffer: str) -> bool:
    return any(e.buffer == buffer for e in all_effects((stmt,)))


def is_whole(region: Region, buffer: Buffer) -> bool:
    """Whether a region is all of a buffer."""
    return region == b.whole(buffer)


def first_use(body: Body, buffer: str, after: int) -> int | None:
    """The position, from `after` on, of the first statement that touches a buffer."""
    return next((i for i in range(after, len(body)) if _touches(body[i], buffer)), None)


def _overwriting(stmt: Stmt, zeroed: Buffer) -> Stmt | None:
    """`stmt` with its product made to overwrite, when that product is the first use of the zeroed
    tile in it."""
    if isinstance(stmt, Gemm):
        fits = stmt.init is None and is_whole(stmt.c, zeroed)
        return replace(stmt, init=b.const(True)) if fits else None
    if not isinstance(stmt, For):
        return None
    at = first_use(_first_trip(stmt), zeroed.name, 0)
    if at is None or may_leave(stmt.body[:at]):
        return None
    gemm = stmt.body[at]
    if not (isinstance(gemm, Gemm) and gemm.init is None and is_whole(gemm.c, zeroed)):
        return None
    made = replace(gemm, init=b.eq(stmt.var, stmt.start))
    return replace(stmt, body=(*stmt.body[:at], made, *stmt.body[at + 1 :]))


def _first_trip(loop: For) -> Body:
    """The body as it runs in the first trip, position by position: branches that the loop's start
    decides have nothing in them."""
    at_start = substitute({loop.var: loop.start})

    def runs(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, If):
            return stmt
        holds = Facts().prove(at_start(stmt.cond))
        if holds is None:
            return stmt
        return replace(stmt, orelse=()) if holds else replace(stmt, then=())

    return tuple(map(runs, loop.body))


def may_leave(body: Body) -> bool:
    """Whether a trip may end before the statements that follow."""
    return any(
        isinstance(s, (Break, Continue)) or any(may_leave(inner) for inner in bodies(s))
        for s in body
    )


class _Rewriter:
    """Holds what does not change during the pass: declarations and the fact traversal."""

    def __init__(self, fn: Function) -> None:
        self.buffers = declared(fn)
        self.walk = FactWalk.of(fn)

    def body(self, body: Body, facts: Facts) -> Body:
        """Rewrite one body: nested bodies first, then its own fills."""
        out: list[Stmt] = []
        for stmt in body:
            inside = self.walk.inside(stmt, facts)
            out.append(map_bodies(stmt, lambda inner, f=inside: self.body(inner, f)))  # type: ignore[misc]  # binds the loop's facts now
            facts = self.walk.after(stmt, facts)
        for at in reversed(range(len(out))):
            self._drop_fill(out, at, facts)
        if len(out) == len(body) and all(x is y for x, y in zip(out, body, strict=True)):
            return body
        return tuple(out)

    def _drop_fill(self, out: list[Stmt], at: int, facts: Facts) -> None:
        fill = out[at]
        if not (isinstance(fill, Fill) and isinstance(fill.value, Const) and fill.value.value == 0):
            return
        buffer = self.buffers[fill.dst.buffer]
        use = first_use(tuple(out), buffer.name, at + 1)
        if use is None or buffer.scope == "global" or not is_whole(fill.dst, buffer):
            return
        made = _overwriting(out[use], buffer)
        if made is None:
            return
        # What is kept goes to the loop: its bounds may be declared after the fill.
        out[use : use + 1] = [*_when_empty(made, fill, facts), made]
        del out[at]


def _when_empty(loop: Stmt, fill: Fill, facts: Facts) -> list[Stmt]:
    """What stays of the fill: nothing, or the fill for the case that the loop has no trip."""
    if not isinstance(loop, For):
        return []
    upward = isinstance(loop.step, Const) and loop.step.value > 0
    empty = b.ge(loop.start, loop.stop) if upward else b.le(loop.start, loop.stop)
    if facts.prove(empty) is False:
        return []
    return [If(cond=empty, then=(fill,), span=fill.span)]


def init_gemm(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Turn zero fills followed by products into overwriting products."""
    if fn.numerics == "strict" or scheduled_by_hand(fn) or not _has_product(fn.body):
        return fn
    return with_body(fn, _Rewriter(fn).body(fn.body, Facts.of_dims(fn.dims)))


def _has_product(body: Body) -> bool:
    return any(isinstance(s, Gemm) or any(_has_product(inner) for inner in bodies(s)) for s in body)


PASS = Pass(name="init-gemm", phase="legalize", rewrite=init_gemm, doc=__doc__)
