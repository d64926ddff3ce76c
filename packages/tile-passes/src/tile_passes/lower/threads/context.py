"""What the lowering rules of one kernel share: its threads, its buffers with their layouts, and how
an element is named in one thread's program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const, Expr, Load, Var
from tile_ir.ops import Alloc, If, Let, Store
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import flat_offset, static_shape
from tile_passes.lower.threads.bits import bits_below, possible_bits
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.spread import dealt, fits_threads, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tile_ir.diag import Span
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.types import DType
    from tile_passes.analysis.facts import Facts
    from tile_passes.lower.threads.ends import Ring
    from tile_passes.lower.threads.spread import Loop, Spread
    from tile_passes.naming import Names

__all__ = ["Rule", "ThreadContext", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadContext:
    """What a rule may ask. `buffers` is shared by all rules of a function: temporaries join it."""

    target: TargetSpec
    threads: int
    thread: Var
    buffers: dict[str, Buffer]
    names: Names
    facts: Facts
    fixed: frozenset[Var] = frozenset()
    """Variables with one value all the time that a block works."""
    strict: bool = False
    rings: Mapping[str, Ring] = field(default_factory=dict)
    """The kernel's channels by name."""
    group: Var | None = None
    """Bound to the number of the thread's group of warps, where several groups run a program."""
    bound: bool = False
    """Whether `thread` is bound already; else the tile loop binds it."""
    own: dict[Expr, Var] = field(default_factory=dict)
    """The names of what depends on the thread alone, in the order of binding."""
    bits: dict[Var, int] = field(default_factory=dict)
    """The bits that can be set in variables of rules, which address arithmetic asks for."""

    def __post_init__(self) -> None:
        self.bits[self.thread] = bits_below(self.threads)

    # -- buffers

    def layout(self, fragment: Buffer) -> FragmentLayout:
        """The layout of a fragment over the block's threads: the chosen one, or any that fits."""
        found = fits_threads(fragment.layout, self.threads)
        if found is None:
            found = fits_threads(dealt(static_shape(fragment), self.threads), self.threads)
        assert found is not None  # `dealt` takes the threads there are
        return found

    def shared(self, stem: str, dtype: DType, shape: Sequence[int]) -> tuple[Buffer, Stmt]:
        """A new shared tile, with the statement that declares it."""
        return self._declare(stem, dtype, shape, "shared", None)

    def fragment(
        self, stem: str, dtype: DType, shape: Sequence[int], layout: FragmentLayout
    ) -> tuple[Buffer, Stmt]:
        """A new fragment, with the statement that declares its registers."""
        return self._declare(stem, dtype, shape, "fragment", layout)

    def _declare(
        self,
        stem: str,
        dtype: DType,
        shape: Sequence[int],
        scope: str,
        layout: FragmentLayout | None,
    ) -> tuple[Buffer, Stmt]:
        made = Buffer(
            name=self.names.fresh(stem),
            dtype=dtype,
            shape=tuple(b.const(n, i32) for n in shape),
            scope=scope,
            layout=layout,
        )
        self.buffers[made.name] = made
        return made, Alloc(buffer=self.registers(made) if scope == "fragment" else made)

    def array(self, stem: str, dtype: DType, size: int) -> tuple[Buffer, Stmt]:
        """A new array of this thread's, with the statement that declares it."""
        made = Buffer(
            name=self.names.fresh(stem), dtype=dtype, shape=(b.const(size, i32),), scope="local"
        )
        self.buffers[made.name] = made
        return made, Alloc(buffer=made)

    def registers(self, fragment: Buffer) -> Buffer:
        """A fragment as the array of one thread's values."""
        size = b.const(self.layout(fragment).values, i32)
        return Buffer(
            name=fragment.name,
            dtype=fragment.dtype,
            shape=(size,),
            scope="local",
            span=fragment.span,
        )

    # -- elements

    def place(self, buffer: Buffer, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The indices of an element outside registers."""
        if buffer.scope != "shared":
            return tuple(indices)
        return (flat_offset(buffer, indices, self.bits),)

    def bind(self, stem: str, value: Expr) -> Expr:
        """A value that depends on the thread alone, named once for all that need it; what is a name
        or a number already stays."""
        if isinstance(value, (Const, Var)):
            return value
        found = self.own.get(value)
        if found is None:
            found = self.own[value] = self.names.var(stem)
            self._note(found, possible_bits(value, self.bits))
        return found

    def bindings(self) -> Items:
        """What `bind` named, for the place where the thread's number is known."""
        return (Piece(tuple(Let(var=v, value=e) for e, v in self.own.items())),) if self.own else ()

    def note_loops(self, loops: Iterable[Loop]) -> None:
        """Remember what bits can be set in the variables of loops."""
        for loop in loops:
            if isinstance(loop.var, Var):
                self._note(loop.var, bits_below(loop.digit.extent))

    def _note(self, var: Var, bits: int | None) -> None:
        if bits is not None:
            self.bits[var] = bits

    def load(self, buffer: Buffer, indices: Sequence[Expr]) -> Load:
        """A read of an element outside registers."""
        return Load(buffer.name, self.place(buffer, indices), buffer.dtype)

    # -- iterations

    def spread(self, layout: FragmentLayout, extents: Sequence[int], vector: int = 1) -> Spread:
        """A box dealt to the threads of the block."""
        made = spread(layout, extents, self.thread, self.names, self.bind, vector)
        self.note_loops(made.loops)
        return made

    def once(self, body: Body, span: Span | None) -> Body:
        """Statements for one thread of the block."""
        return (If(cond=b.eq(self.thread, 0), then=body, span=span),)


Rule = Callable[["Stmt", ThreadContext], Items]
"""Rewrites one tile operation into pieces of a thread's program."""


def whole(buffer: Buffer) -> Region:
    """All of a tile."""
    return b.whole(buffer)


def declared(*stmts: Stmt) -> Piece:
    """A piece of declarations."""
    return Piece(tuple(stmts))


def guarded(body: Body, *conditions: Expr | None, span: Span | None = None) -> Body:
    """The statements under all conditions that are given."""
    for cond in reversed(conditions):
        if cond is not None:
            body = (If(cond=cond, then=body, span=span),)
    return body


def put(buffer: Buffer, at: tuple[Expr, ...], value: Expr, span: Span | None) -> Store:
    """A write at indices of one thread's program."""
    return Store(buffer=buffer.name, indices=at, value=value, span=span)
