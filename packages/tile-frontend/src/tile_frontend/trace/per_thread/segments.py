"""Runs of statements that threads do without waiting for each other, between those of the block."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from tile_frontend.trace.per_thread.meetings import Touch, changing, touches
from tile_ir import build as b
from tile_ir.expr import Var
from tile_ir.layout import one_row_each
from tile_ir.ops import Alloc, If, Parallel
from tile_ir.rewrite import map_stmts, walk
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_frontend.trace.per_thread.meetings import Meetings
    from tile_frontend.trace.per_thread.values import Values
    from tile_ir.opdef import Body, Stmt

__all__ = ["Segment"]


@dataclass
class Segment:
    """The statements of a body of the block, with the run that is still open."""

    values: Values
    on_chip: Meetings
    anywhere: Meetings
    roots: Mapping[str, str]
    out: list[Stmt] = field(default_factory=list)
    open: list[tuple[Stmt, str | None]] = field(default_factory=list)
    """Statements of threads, each with the scalar that tells which of them run it."""
    touched: list[Touch] = field(default_factory=list)
    inner: set[Var] = field(default_factory=set)

    def declare(self, s: Stmt) -> None:
        """Add a declaration: before the open run, which it does not end."""
        self.out.append(s)

    def together(self, s: Stmt) -> None:
        """Add a statement of the block."""
        self.flush()
        self.out.append(s)

    def extend(self, body: Body) -> None:
        """Add statements of the block."""
        self.flush()
        self.out += body

    def add(self, s: Stmt, mask: str | None) -> None:
        """Add a statement of threads, after all have done the others if they meet in it."""
        found = touches(s, self.values.varying, self.roots)
        inner = changing(s)
        if self.open and self.anywhere.any([*self.touched, *found], self.inner | inner):
            self.flush()
        self.open.append((s, mask))
        self.touched += found
        self.inner |= inner

    def flush(self) -> None:
        """End the open run."""
        if not self.open:
            return
        thread = Var(self.values.fresh("thread"), i32)
        body: list[Stmt] = []
        for mask, group in groupby(self.open, key=lambda pair: pair[1]):
            stmts = tuple(self._bare(s) for s, _ in group)
            if mask is None:
                body += stmts
            else:
                cond = self.values.read(mask)
                body.append(If(cond=cond, then=stmts, span=stmts[0].span))
        made = tuple(self.values.of_thread(s, thread) for s in body)
        count = self.values.threads
        self.out.append(
            Parallel(
                vars=(thread,),
                extents=(b.const(count, i32),),
                layout=one_row_each((count,)),
                body=made,
                span=made[0].span,
            )
        )
        self.open, self.touched, self.inner = [], [], set()

    def _bare(self, s: Stmt) -> Stmt:
        """A statement with its declarations before the run."""
        made = [t for t in walk((s,)) if isinstance(t, Alloc)]
        self.out += [self.values.declared(t) for t in made]
        return map_stmts((s,), lambda t: () if isinstance(t, Alloc) else None)[0] if made else s

    def done(self) -> Body:
        """All statements."""
        self.flush()
        return tuple(self.out)
