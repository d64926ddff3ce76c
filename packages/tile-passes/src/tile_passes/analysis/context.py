"""Walking a program with the facts that hold at each statement.

A condition enters the facts only when its value cannot change under the prover's feet: loads count
only from buffers that the function never writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Expr, loads
from tile_ir.opdef import Access, Body, Stmt
from tile_ir.ops import Assume, For, If, Let, Parallel, Tiles, While
from tile_ir.rewrite import all_effects, map_bodies, replace
from tile_passes.analysis.facts import Facts

if TYPE_CHECKING:
    from tile_ir.core import Function

Visit = Callable[[Stmt, Facts], "Stmt | Body | None"]
"""Sees a statement before its bodies are walked, with the facts at its place. None keeps it, a
tuple splices."""


@dataclass(frozen=True, slots=True)
class FactWalk:
    """A traversal that threads facts through loops, branches, bindings and assumptions."""

    written: frozenset[str]

    @staticmethod
    def of(fn: Function) -> FactWalk:
        """The traversal for a function: what it writes decides which loads are stable."""
        touched = (e for e in all_effects(fn.body) if e.access & (Access.WRITE | Access.UPDATE))
        return FactWalk(frozenset(e.buffer for e in touched))

    def stable(self, e: Expr) -> bool:
        """Whether `e` has one value wherever it is evaluated within its scope."""
        return not any(load.buffer in self.written for load in loads(e))

    def rewrite(self, body: Body, facts: Facts, visit: Visit) -> Body:
        """Rewrite top down: `visit` replaces a statement, then the bodies of what it returned are
        walked.

        Statements that `visit` splices in are visited themselves.
        """
        out: list[Stmt] = []
        same = True
        for stmt in body:
            made = visit(stmt, facts)
            if isinstance(made, tuple):
                walked = self.rewrite(made, facts, visit)
            else:
                walked = (self._bodies(stmt if made is None else made, facts, visit),)
            same = same and len(walked) == 1 and walked[0] is stmt
            out.extend(walked)
            for s in walked:
                facts = self.after(s, facts)
        return body if same else tuple(out)

    def after(self, stmt: Stmt, facts: Facts) -> Facts:
        """The facts for the statements that follow `stmt` in its body."""
        if isinstance(stmt, Assume) and self.stable(stmt.cond):
            return facts.assume(stmt.cond)
        if isinstance(stmt, Let) and stmt.var.dtype.is_int and self.stable(stmt.value):
            return facts.let(stmt.var, stmt.value)
        return facts

    def _bodies(self, stmt: Stmt, facts: Facts, visit: Visit) -> Stmt:
        if isinstance(stmt, If):
            yes = no = facts
            if self.stable(stmt.cond):
                yes, no = facts.assume(stmt.cond), facts.assume_not(stmt.cond)
            return replace(
                stmt,
                then=self.rewrite(stmt.then, yes, visit),
                orelse=self.rewrite(stmt.orelse, no, visit),
            )
        inside = self.inside(stmt, facts)
        return map_bodies(stmt, lambda body: self.rewrite(body, inside, visit))

    def inside(self, stmt: Stmt, facts: Facts) -> Facts:
        """The facts in the body of a loop or kernel."""
        if isinstance(stmt, (Tiles, Parallel)):
            for var, extent in zip(stmt.vars, stmt.extents, strict=True):
                if self.stable(extent):
                    facts = facts.bind(var, b.const(0, var.dtype), extent)
            return facts
        if isinstance(stmt, For):
            return self._in_loop(stmt, facts)
        if isinstance(stmt, While) and self.stable(stmt.cond):
            return facts.assume(stmt.cond)
        return facts

    def _in_loop(self, stmt: For, facts: Facts) -> Facts:
        if not (
            isinstance(stmt.step, Const) and self.stable(stmt.start) and self.stable(stmt.stop)
        ):
            return facts
        if stmt.step.value > 0:
            return facts.bind(stmt.var, stmt.start, stmt.stop)
        return facts.bind(stmt.var, b.add(stmt.stop, 1), b.add(stmt.start, 1))
