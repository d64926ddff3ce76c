"""Where a value of each thread lives: an element of a fragment with an axis of threads."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_frontend.trace.per_thread.varying import is_thread
from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const, Expr, Load, Var, rewrite
from tile_ir.layout import one_row_each
from tile_ir.opdef import opdef
from tile_ir.ops import Alloc, Atomic, For, Store, View
from tile_ir.rewrite import map_bodies, map_exprs, replace
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tile_frontend.trace.per_thread.varying import Varying
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Let

__all__ = ["Values"]


@dataclass
class Values:
    """The values of threads, by the names that they had in the kernel."""

    threads: int
    varying: Varying
    fresh: Callable[[str], str]
    made: dict[str, Buffer] = field(default_factory=dict)
    """The fragments that stand for scalars and arrays of a thread."""
    stands: dict[Var, Expr] = field(default_factory=dict)
    """What stands for variables of a thread, written with the thread's number."""

    # -- declarations

    def declared(self, s: Alloc | View) -> Stmt:
        """A declaration, with the axis of threads if each has its own."""
        if s.buffer.name not in self.varying.private:
            return s
        found = self._with_threads(s.buffer)
        if isinstance(s, View):  # where it lies is its source's business
            found = self.made[found.name] = dataclasses.replace(found, layout=None)
        return replace(s, buffer=found)

    def _with_threads(self, own: Buffer) -> Buffer:
        found = self.made.get(own.name)
        if found is None:
            shape = (self.threads, *(int(n.value) for n in own.shape if isinstance(n, Const)))
            found = self.made[own.name] = dataclasses.replace(
                own,
                shape=tuple(b.const(n, i32) for n in shape),
                scope="fragment",
                layout=one_row_each(shape),
            )
        return found

    def scalar(self, stem: str, value: Expr, s: Stmt) -> tuple[Stmt, Store, Load]:
        """A scalar of each thread: its declaration, the store of a value, and a read."""
        own = Buffer(name=self.fresh(stem), dtype=value.dtype, shape=(), scope="var", span=s.span)
        self.varying.private.add(own.name)
        alloc = Alloc(buffer=self._with_threads(own), span=s.span)
        store = Store(buffer=own.name, indices=(), value=value, span=s.span)
        return alloc, store, Load(own.name, (), own.dtype)

    def kept(self, s: Let) -> tuple[Stmt, Store]:
        """A binding whose value differs by thread, as a scalar of each thread."""
        alloc, store, value = self.scalar(s.var.name, s.value, s)
        self.stands[s.var] = value
        return alloc, store

    @contextmanager
    def standing_for(self, var: Var, value: Expr) -> Iterator[None]:
        """While a value stands for a variable."""
        self.stands[var] = value
        yield
        del self.stands[var]

    def read(self, name: str) -> Load:
        """A read of a scalar of each thread."""
        return Load(name, (), self.made[name].dtype)

    def is_uniform(self, e: Expr) -> bool:
        """Whether a value is the same in all threads."""
        return not self.varying.expr(e)

    # -- statements

    def exchange(self, s: Stmt) -> Stmt:
        """An operation on the scalars of all threads."""
        fields = {f.name: getattr(s, f.name) for f in opdef(s).of_kind("operand")}
        rows = {name: self._row(r) for name, r in fields.items() if isinstance(r, Region)}
        return replace(s, **rows)

    def _row(self, region: Region) -> Region:
        found = self.made.get(region.buffer)
        return region if found is None else b.whole(found)

    def of_thread(self, s: Stmt, thread: Var) -> Stmt:
        """A statement of one thread, whose number is `thread`."""
        memo: dict[Expr, Expr] = {}

        def one(e: Expr) -> Expr | None:
            if is_thread(e):
                return thread
            if isinstance(e, Load) and e.buffer in self.made:
                return Load(e.buffer, (thread, *e.indices), e.dtype, e.slot)
            if isinstance(e, Var) and e in self.stands:
                return rewrite(self.stands[e], one, memo)
            return None

        def stmt(s: Stmt) -> Stmt:
            s = map_exprs(s, lambda e: rewrite(e, one, memo))
            if isinstance(s, (Store, Atomic)) and s.buffer in self.made:
                s = replace(s, indices=(thread, *s.indices))
            if isinstance(s, For) and s.kind == "pipelined":
                s = replace(s, kind="serial", num_stages=0, order=(), stage=())
            return map_bodies(s, lambda body: tuple(stmt(t) for t in body))

        return stmt(s)
