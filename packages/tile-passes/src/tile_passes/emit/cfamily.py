"""Statements as C text: one rule per op, which a target may replace or extend.

Only what is left after lowering is printed here: loops, branches, bindings, element accesses. An op
without a rule is our defect, never a silent omission.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.expr import Cast, Const, Ramp, loads
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import (
    Alloc,
    Break,
    Continue,
    For,
    If,
    Let,
    Pin,
    Store,
    While,
)

if TYPE_CHECKING:
    from tile_passes.emit.exprs import ExprPrinter
    from tile_passes.emit.writer import Writer

Rule = Callable[["StmtPrinter", Stmt], None]


class StmtPrinter:
    """Prints bodies of statements through an expression printer into a writer.

    `rules` extends the table of this module (a rule of the same op replaces ours). `leave` is the
    statement that returns early from the function being printed.
    """

    leave = "return;"

    def __init__(
        self, exprs: ExprPrinter, out: Writer, rules: Mapping[type[Stmt], Rule] | None = None
    ) -> None:
        self.exprs = exprs
        self.out = out
        self.rules: dict[type[Stmt], Rule] = {**RULES, **(rules or {})}

    def body(self, body: Body) -> None:
        """Print statements in order, each under the user's line that it came from."""
        rest = list(reversed(body))
        while rest:
            stmt = rest.pop()
            if rest and _initializes(stmt, rest[-1]):
                print_initialized(self, stmt, rest.pop())
                continue
            rule = self.rules.get(type(stmt))
            if rule is None:
                name = opdef(stmt).name
                raise InternalError("E9001", f"`{name}` reached the emitter", span=stmt.span)
            if not isinstance(stmt, Alloc):  # a declaration prints nothing worth a comment
                self.out.place(stmt.span)
            rule(self, stmt)


def _initializes(alloc: Stmt, store: Stmt) -> bool:
    """Whether a scalar is declared and at once given a value that does not read it."""
    if not (isinstance(alloc, Alloc) and isinstance(store, Store)):
        return False
    b = alloc.buffer
    return (
        b.scope == "var"
        and store.buffer == b.name
        and not any(load.buffer == b.name for load in loads(store.value))
    )


def print_initialized(p: StmtPrinter, alloc: Stmt, store: Stmt) -> None:
    """A mutable scalar with its first value."""
    assert isinstance(alloc, Alloc)
    assert isinstance(store, Store)
    p.out.place(store.span)
    b = alloc.buffer
    carrier = p.exprs.dialect.carrier(b.dtype)
    p.out.line(f"{carrier} {p.exprs.name(b.name)} = {p.exprs.value(store.value)};")


def print_for(p: StmtPrinter, s: Stmt) -> None:
    """A counted loop, with the loop variable in the index type."""
    assert isinstance(s, For)
    step = int(s.step.value) if isinstance(s.step, Const) else 0
    if step == 0:
        raise InternalError("E9001", "a loop without a constant step", span=s.span)
    name, kind = p.exprs.name(s.var.name), p.exprs.dialect.index_type
    test = "<" if step > 0 else ">"
    move = {1: f"{name}++", -1: f"{name}--"}.get(
        step, f"{name} += {step}" if step > 0 else f"{name} -= {-step}"
    )
    start, stop = p.exprs.index(s.start), p.exprs.index(s.stop, 10)
    if s.kind == "unroll" or s.unroll:
        p.out.line(f"#pragma GCC unroll {s.unroll or 16}")
    with p.out.block(f"for ({kind} {name} = {start}; {name} {test} {stop}; {move})"):
        p.body(s.body)


def print_if(p: StmtPrinter, s: Stmt) -> None:
    """A branch."""
    assert isinstance(s, If)
    with p.out.block(f"if ({p.exprs.condition(s.cond)})", tail="" if s.orelse else "}"):
        p.body(s.then)
    if s.orelse:
        with p.out.block("} else"):
            p.body(s.orelse)


def print_while(p: StmtPrinter, s: Stmt) -> None:
    """A loop on a condition."""
    assert isinstance(s, While)
    with p.out.block(f"while ({p.exprs.condition(s.cond)})"):
        p.body(s.body)


def print_let(p: StmtPrinter, s: Stmt) -> None:
    """A binding, constant in C too."""
    assert isinstance(s, Let)
    name = p.exprs.name(s.var.name)
    if s.var in p.exprs.wide:
        p.out.line(f"const {p.exprs.dialect.index_type} {name} = {p.exprs.index(s.value)};")
        return
    carrier = p.exprs.dialect.carrier(s.var.dtype)
    p.out.line(f"const {carrier} {name} = {p.exprs.value(s.value)};")


def print_store(p: StmtPrinter, s: Stmt) -> None:
    """One element, or one vector of them."""
    assert isinstance(s, Store)
    buffer = p.exprs.buffers[s.buffer]
    name = p.exprs.name(s.buffer)
    if buffer.scope == "var":
        p.out.line(f"{name} = {p.exprs.value(s.value)};")
        return
    value = s.value
    if isinstance(value, Cast) and p.exprs.dialect.write_converts(value.a.dtype, value.dtype):
        value = value.a
    at = p.exprs.offset(buffer, s.indices)
    if s.indices and isinstance(s.indices[-1], Ramp) and s.indices[-1].stride != 1:
        raise InternalError("E9001", f"a strided vector store to {s.buffer}", span=s.span)
    p.out.line(p.exprs.dialect.write(s.value.dtype, name, at, p.exprs.value(value)) + ";")


def print_alloc(p: StmtPrinter, s: Stmt) -> None:
    """A mutable scalar or a small array of this thread."""
    assert isinstance(s, Alloc)
    b, dialect = s.buffer, p.exprs.dialect
    name = p.exprs.name(b.name)
    if b.scope == "var":
        p.out.line(f"{dialect.carrier(b.dtype)} {name};")
        return
    count = 1
    for extent in b.shape:
        assert isinstance(extent, Const)
        count *= int(extent.value)
    words = dialect.qualifiers.get(b.scope, "")
    p.out.line(f"{words}{dialect.storage(b.dtype)} {name}[{dialect.array_length(b.dtype, count)}];")


def _print_break(p: StmtPrinter, _s: Stmt) -> None:
    p.out.line("break;")


def _print_continue(p: StmtPrinter, _s: Stmt) -> None:
    p.out.line("continue;")


def _print_nothing(p: StmtPrinter, s: Stmt) -> None:
    """What only a compiler that moves waits needs to be told."""


RULES: dict[type[Stmt], Rule] = {
    Alloc: print_alloc,
    Break: _print_break,
    Continue: _print_continue,
    For: print_for,
    If: print_if,
    Let: print_let,
    Pin: _print_nothing,
    Store: print_store,
    While: print_while,
}
"""The rule of each op that every C-family language prints alike."""
