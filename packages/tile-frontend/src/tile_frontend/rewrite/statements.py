"""Rewriting of statements. Each first records its row, so that what it traces knows its place and
the names to give.

A traced branch or loop runs its body once, inside a scope of the builder; one that Python can
decide runs as Python. Both share one rewritten form, and break, continue and return keep their
Python meaning wherever that is possible.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar

from tile_frontend.rewrite import bindings
from tile_frontend.rewrite.expressions import ExpressionRewriter
from tile_frontend.rewrite.names import target_names
from tile_frontend.rewrite.nodes import FRAME, assign, at, lazily, load, method, store
from tile_frontend.rewrite.source import header_place, header_span
from tile_ir.diag import Span, TileError


@dataclass(frozen=True, slots=True)
class Row:
    """What a statement tells the tracer: its place, and the names of its targets for what it
    creates.
    """

    span: Span
    names: tuple[str, ...]


class StatementRewriter(ExpressionRewriter):
    """Rewrites one function's body and collects its rows."""

    def __init__(self, file: str, watched: frozenset[str], parameters: frozenset[str]) -> None:
        super().__init__(file, watched)
        self.parameters = parameters
        self.rows: list[Row] = []
        self._temporaries = 0

    def row(self, span: Span, names: tuple[str, ...]) -> int:
        """Append a row and return its index."""
        self.rows.append(Row(span, names))
        return len(self.rows) - 1

    def temporary(self) -> str:
        """A local name that no user writes."""
        self._temporaries += 1
        return f"__tile_{self._temporaries}__"

    def body(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite a block."""
        return [made for stmt in stmts for made in self.statement(stmt)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements that stand for one statement, the recording of its row first."""
        if isinstance(node, self._kept):
            return [node]
        handler = self._handlers.get(type(node))
        if handler is None:
            raise self.refused(node)
        number = self.row(header_span(node, self.file), _names_of(node))
        made: list[ast.stmt] = getattr(self, handler)(node)
        mark = ast.Assign([ast.Attribute(load(FRAME), "at", ast.Store())], ast.Constant(number))
        place = header_place(node, self.file)
        return [at(mark, place), *(at(stmt, place) for stmt in made)]

    _kept: ClassVar = (ast.Pass, ast.FunctionDef, ast.Import, ast.ImportFrom)
    _handlers: ClassVar[dict[type[ast.stmt], str]] = {
        ast.Expr: "_expression",
        ast.Assign: "_assign",
        ast.AugAssign: "_augmented",
        ast.AnnAssign: "_annotated",
        ast.If: "_if",
        ast.For: "_for",
        ast.While: "_while",
        ast.With: "_with",
        ast.Break: "_break",
        ast.Continue: "_continue",
        ast.Return: "_return",
        ast.Assert: "_assert",
        ast.Raise: "_raise",
    }

    def refused(self, node: ast.stmt) -> TileError:
        """The error for a statement that no kernel can hold."""
        word = _WORDS.get(type(node).__name__, type(node).__name__.lower())
        return TileError(
            "E1002",
            f"`{word}` has no meaning in a kernel",
            header_span(node, self.file),
            notes=("the body of a kernel becomes code for a device that has no such construct",),
            help="move it out of the kernel, into a Python function that the kernel calls",
        )

    def _expression(self, node: ast.Expr) -> list[ast.stmt]:
        return [ast.Expr(self.rewrite(node.value))]

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.rewrite(node.value)
        if len(node.targets) == 1:
            return bindings.bind(self, node.targets[0], value, node)
        name = self.temporary()
        made: list[ast.stmt] = [assign(name, value)]
        for target in node.targets:
            made += bindings.bind(self, target, load(name), node)
        return made

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        value = self.rewrite(node.value)
        if isinstance(node.target, ast.Name):
            return [bindings.augment(node.target.id, node.op, value)]
        if isinstance(node.target, ast.Subscript) and not bindings.has_slice(node.target.slice):
            return [bindings.augment_item(self, node.target, node.op, value)]
        return [ast.AugAssign(bindings.place(self, node.target), node.op, value)]

    def _annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return bindings.annotate(self, node)

    def _if(self, node: ast.If) -> list[ast.stmt]:
        name = self.temporary()
        has_else = ast.Constant(bool(node.orelse))
        made: list[ast.stmt] = [
            at(assign(name, method("branch", self.rewrite(node.test), has_else)), node.test)
        ]
        for arm, body in (("then", node.body), ("orelse", node.orelse)):
            if body:
                taken = ast.Attribute(load(name), f"takes_{arm}", ast.Load())
                scope = ast.withitem(ast.Attribute(load(name), arm, ast.Load()))
                made.append(ast.If(taken, [ast.With([scope], self.body(body))], []))
        return made

    def _for(self, node: ast.For) -> list[ast.stmt]:
        self._no_else(node, node.orelse)
        source = self._iterated(node.iter)
        loop = at(method("loop", source), node.iter)
        name = self.temporary()
        head = bindings.target(self, node.target, load(name), node)
        return [ast.For(store(name), loop, [*head, *self.body(node.body)], [])]

    def _iterated(self, node: ast.expr) -> ast.expr:
        """`range(...)` is looked at before Python insists on plain integers."""
        made = self.rewrite(node)
        if (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Name)
            and made.func.id == "range"
            and not made.keywords
        ):
            return at(method("range", made.func, *made.args), node)
        return made

    def _while(self, node: ast.While) -> list[ast.stmt]:
        self._no_else(node, node.orelse)
        loop = at(method("while_", lazily(self.rewrite(node.test))), node.test)
        return [ast.For(store(self.temporary()), loop, self.body(node.body), [])]

    def _no_else(self, node: ast.stmt, orelse: list[ast.stmt]) -> None:
        if orelse:
            raise TileError(
                "E1011",
                "a loop in a kernel has no `else`",
                header_span(node, self.file),
                help="set a T.alloc_var flag before the `break` and test it after the loop",
            )

    def _with(self, node: ast.With) -> list[ast.stmt]:
        items = []
        head: list[ast.stmt] = []
        for item in node.items:
            target = item.optional_vars
            items.append(ast.withitem(self.rewrite(item.context_expr), target))
            if target is not None:
                head += bindings.register(target, node)
        return [ast.With(items, [*head, *self.body(node.body)])]

    def _break(self, node: ast.Break) -> list[ast.stmt]:
        return [ast.If(method("break_"), [at(ast.Break(), node)], [])]

    def _continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [ast.If(method("continue_"), [at(ast.Continue(), node)], [])]

    def _return(self, node: ast.Return) -> list[ast.stmt]:
        value = ast.Constant(None) if node.value is None else self.rewrite(node.value)
        return [ast.Return(method("return_", value))]

    def _assert(self, node: ast.Assert) -> list[ast.stmt]:
        message = ast.Constant("") if node.msg is None else self.rewrite(node.msg)
        return [ast.Expr(method("check", self.rewrite(node.test), lazily(message)))]

    def _raise(self, node: ast.Raise) -> list[ast.stmt]:
        return [ast.Expr(method("raise_")), node]


_WORDS = {
    "Delete": "del",
    "Try": "try",
    "TryStar": "try",
    "ClassDef": "class",
    "Match": "match",
    "Global": "global",
    "Nonlocal": "nonlocal",
    "AsyncFor": "async for",
    "AsyncWith": "async with",
    "AsyncFunctionDef": "async def",
    "TypeAlias": "type",
}


def _names_of(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.Assign):
        return tuple(name for t in node.targets for name in target_names(t))
    if isinstance(node, ast.With):
        return tuple(
            name for i in node.items if i.optional_vars for name in target_names(i.optional_vars)
        )
    if isinstance(node, (ast.AnnAssign, ast.For)):
        return target_names(node.target)
    return ()
