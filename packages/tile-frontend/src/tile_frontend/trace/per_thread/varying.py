"""What differs from thread to thread: variables, arrays of a thread, scalars that change.

A scalar or a local array is each thread's own when a thread's number, or another such value, is
ever stored to it, or when it is stored to where only some threads come. All others are the same in
all threads, and stay one for the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.core import Region
from tile_ir.expr import Call, Expr, Load, Var, walk
from tile_ir.opdef import Access, bodies, opdef, operand_values
from tile_ir.ops import (
    Atomic,
    Break,
    CallExtern,
    Continue,
    For,
    If,
    Let,
    Reduce,
    Shuffle,
    View,
    WarpReduce,
    While,
)
from tile_ir.rewrite import effects, stmt_exprs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt

__all__ = ["Varying", "is_thread", "regions", "varying"]

OWN_SCOPES = ("local", "var")


def is_thread(e: Expr) -> bool:
    """Whether an expression is the number of the thread."""
    return isinstance(e, Call) and e.fn == "thread_index"


def regions(s: Stmt) -> list[Region]:
    """The regions among a statement's operands."""
    return [
        v
        for f in opdef(s).of_kind("operand")
        for v in operand_values(getattr(s, f.name))
        if isinstance(v, Region)
    ]


@dataclass(slots=True)
class Varying:
    """The variables and buffers that have a value of their own in each thread."""

    buffers: Mapping[str, Buffer]
    handed: Collection[str] = ()
    """Scalars of threads that exchanges and barriers read."""
    vars: set[Var] = field(default_factory=set)
    private: set[str] = field(default_factory=set)

    def expr(self, e: Expr) -> bool:
        """Whether a value differs by thread."""
        return any(
            is_thread(n)
            or (isinstance(n, Var) and n in self.vars)
            or (isinstance(n, Load) and n.buffer in self.private)
            for n in walk(e)
        )

    def operands(self, s: Stmt) -> bool:
        """Whether an operand of the statement itself does."""
        return any(map(self.expr, stmt_exprs(s))) or any(
            r.buffer in self.private for r in regions(s)
        )

    def touches(self, s: Stmt) -> bool:
        """Whether the statement or one inside names a thread, or what is a thread's own."""
        own = {e.buffer for e in effects(s)} & self.private
        if own or self.operands(s):
            return True
        return any(self.touches(t) for body in bodies(s) for t in body)

    def _size(self) -> int:
        return len(self.vars) + len(self.private)

    def note(self, body: Body, apart: bool) -> None:
        """Note what statements make different; `apart`: only some threads come here."""
        for s in body:
            inner = apart
            if isinstance(s, (If, While)):
                inner = apart or self.expr(s.cond)
            elif isinstance(s, For) and self.operands(s):
                self.vars.add(s.var)
                inner = True
            if isinstance(s, (For, While)):
                inner = inner or self._left_apart(bodies(s)[0], inner=False)
            self._note_own(s, apart)
            for part in bodies(s):
                self.note(part, inner)

    def _left_apart(self, body: Body, *, inner: bool) -> bool:
        """Whether some threads may leave a loop, or a trip of it, before others."""
        for s in body:
            if isinstance(s, (Break, Continue)) and inner:
                return True
            if isinstance(s, If):
                deeper = inner or self.expr(s.cond)
                if any(self._left_apart(part, inner=deeper) for part in bodies(s)):
                    return True
        return False

    def _note_own(self, s: Stmt, apart: bool) -> None:
        differs = apart or self.operands(s)
        if isinstance(s, Let) and self.expr(s.value):
            self.vars.add(s.var)
        if isinstance(s, (Atomic, CallExtern)) and s.result is not None and differs:
            self.vars.add(s.result)
        if isinstance(s, View) and {s.source, s.buffer.name} & self.private:
            self.private |= {s.source, s.buffer.name}
        if isinstance(s, (Shuffle, WarpReduce)):
            self.private |= {r.buffer for r in regions(s)}
        elif isinstance(s, Reduce) and s.src.buffer in self.handed:
            self.private.add(s.src.buffer)
        elif differs:
            written = {e.buffer for e in effects(s) if e.access & (Access.WRITE | Access.UPDATE)}
            self.private |= {n for n in written if self.buffers[n].scope in OWN_SCOPES}


def varying(body: Body, buffers: Mapping[str, Buffer], handed: Collection[str]) -> Varying:
    """What differs by thread in a tile body."""
    found = Varying(buffers, handed)
    size = -1
    while size != found._size():
        size = found._size()
        found.note(body, apart=False)
    return found
