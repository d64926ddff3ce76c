"""Rewriting of expressions: lazy operators, chained comparisons, and loads of watched names.

Arithmetic, indexing and calls stay as they are: the traced values overload them.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tile_frontend.rewrite.names import target_names
from tile_frontend.rewrite.nodes import at, lazily, load, method, text
from tile_frontend.rewrite.source import node_span
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Is: "is_",
    ast.IsNot: "is_not",
    ast.In: "in_",
    ast.NotIn: "not_in",
}


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites one function's expressions; `watched` names are read through the frame."""

    def __init__(self, file: str, watched: frozenset[str]) -> None:
        self.file = file
        self.watched = watched

    def rewrite(self, node: ast.expr) -> ast.expr:
        """The expression that computes or traces `node`."""
        made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A watched name is checked to be alive where it is read."""
        if not isinstance(node.ctx, ast.Load) or node.id not in self.watched:
            return node
        return at(method("read", text(node.id), load(node.id)), node)

    @contextmanager
    def _hidden(self, names: Iterable[str]) -> Iterator[None]:
        """Inside, these names are an inner scope's own, which the frame knows nothing of."""
        watched = self.watched
        self.watched = watched.difference(names)
        try:
            yield
        finally:
            self.watched = watched

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Parameters hide names of the function; defaults are computed outside."""
        args = self.visit(node.args)
        taken = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
        with self._hidden(a.arg for a in taken if a is not None):
            return at(ast.Lambda(args, self.rewrite(node.body)), node)

    def _comprehension(self, node: ast.expr) -> ast.expr:
        """Targets hide names of the function everywhere but in what is iterated over first."""
        assert isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
        first = node.generators[0]
        outer, first.iter = self.rewrite(first.iter), ast.Constant(None)
        with self._hidden(n for g in node.generators for n in target_names(g.target)):
            self.generic_visit(node)
        first.iter = outer
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`a and b and c`: the first operand decides whether the rest is Python's or traced."""
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        first, *rest = (self.rewrite(v) for v in node.values)
        return at(method(name, first, *(lazily(r) for r in rest)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """`not a`."""
        operand = self.rewrite(node.operand)
        if isinstance(node.op, ast.Not):
            return at(method("not_", operand), node)
        return at(ast.UnaryOp(node.op, operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """`t if c else f`."""
        test, t, f = (self.rewrite(e) for e in (node.test, node.body, node.orelse))
        return at(method("if_else", test, lazily(t), lazily(f)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A single comparison is the operands' own; `a < b < c` evaluates b once and c lazily."""
        if len(node.ops) == 1:
            self.generic_visit(node)
            return node
        names = ast.Tuple([text(_COMPARE[type(op)]) for op in node.ops], ast.Load())
        first = self.rewrite(node.left)
        rest = [lazily(self.rewrite(c)) for c in node.comparators]
        return at(method("compare", names, first, *rest), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        """`:=` would bind without the frame knowing."""
        raise _refused(node, self.file, "`:=`", "assign in a statement of its own")

    def visit_Await(self, node: ast.Await) -> ast.expr:
        """A kernel cannot wait for a coroutine."""
        raise _refused(node, self.file, "`await`", "compute the value outside the kernel")

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        """A kernel is no generator."""
        raise _refused(node, self.file, "`yield`", "write results to a tensor")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        """A kernel is no generator."""
        raise _refused(node, self.file, "`yield from`", "write results to a tensor")


def _refused(node: ast.expr, file: str, what: str, instead: str) -> TileError:
    return TileError(
        "E1002",
        f"{what} has no meaning in a kernel",
        node_span(node, file),
        help=instead,
    )
