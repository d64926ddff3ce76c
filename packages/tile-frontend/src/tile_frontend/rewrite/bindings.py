"""Assignments: names are bound through the frame, which stores to a mutable scalar and aliases
anything else.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tile_frontend.rewrite.names import target_names
from tile_frontend.rewrite.nodes import assign, at, load, method, store, text
from tile_frontend.rewrite.source import node_span
from tile_ir.diag import TileError

if TYPE_CHECKING:
    from tile_frontend.rewrite.statements import StatementRewriter


def bind(
    rewriter: StatementRewriter, target: ast.expr, value: ast.expr, node: ast.stmt
) -> list[ast.stmt]:
    """`target = value` for any form of target."""
    if isinstance(target, ast.Name):
        return [at(assign(target.id, method("assign", text(target.id), value)), node)]
    if isinstance(target, (ast.Tuple, ast.List)):
        if any(isinstance(item, ast.Starred) for item in target.elts):
            return [at(ast.Assign([target], value), node), *register(target, node)]
        return _unpack(rewriter, target, value, node)
    if isinstance(target, ast.Attribute):
        # An attribute outlives the statement like a name does, so a load is made now.
        value = method("keep", text(target.attr), value)
    if isinstance(target, ast.Subscript) and not has_slice(target.slice):
        inner, index = rewriter.rewrite(target.value), rewriter.rewrite(target.slice)
        return [at(ast.Expr(method("set_item", value, inner, index)), node)]
    return [at(ast.Assign([place(rewriter, target)], value), node)]


def has_slice(index: ast.expr) -> bool:
    """Whether an index is or holds a slice, which only a subscript can hold."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(item, ast.Slice) for item in items)


def _unpack(
    rewriter: StatementRewriter, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt
) -> list[ast.stmt]:
    """`a, b = b, a` reads every value before it stores the first."""
    name = rewriter.temporary()
    count = ast.Constant(len(target.elts))
    names = ast.Tuple([text(", ".join(target_names(e)) or "_") for e in target.elts], ast.Load())
    made: list[ast.stmt] = [at(assign(name, method("unpack", count, names, value)), node)]
    for i, item in enumerate(target.elts):
        part = ast.Subscript(load(name), ast.Constant(i), ast.Load())
        made += bind(rewriter, item, part, node)
    return made


def target(
    rewriter: StatementRewriter, goal: ast.expr, value: ast.expr, node: ast.stmt
) -> list[ast.stmt]:
    """Bind a loop's target: always a new alias, never a store to a mutable scalar."""
    if isinstance(goal, ast.Name):
        return [at(assign(goal.id, method("target", text(goal.id), value)), node)]
    return [at(ast.Assign([goal], value), node), *register(goal, node)]


def register(goal: ast.expr, node: ast.stmt) -> list[ast.stmt]:
    """Tell the frame of names that Python itself has just bound."""
    return [
        at(assign(name, method("target", text(name), load(name))), node)
        for name in target_names(goal)
    ]


def augment(name: str, op: ast.operator, value: ast.expr) -> ast.stmt:
    """`name += value`."""
    word = text(type(op).__name__)
    return assign(name, method("augment", text(name), load(name), word, value))


def augment_item(
    rewriter: StatementRewriter, target: ast.Subscript, op: ast.operator, value: ast.expr
) -> ast.stmt:
    """`target[key] += value`."""
    inner, index = rewriter.rewrite(target.value), rewriter.rewrite(target.slice)
    return ast.Expr(method("augment_item", value, inner, index, text(type(op).__name__)))


def place(rewriter: StatementRewriter, target: ast.expr) -> ast.Subscript | ast.Attribute:
    """A subscript or attribute target, its inner expressions rewritten."""
    if isinstance(target, ast.Subscript):
        inner, index = rewriter.rewrite(target.value), rewriter.rewrite(target.slice)
        return at(ast.Subscript(inner, index, ast.Store()), target)
    assert isinstance(target, ast.Attribute)
    return at(ast.Attribute(rewriter.rewrite(target.value), target.attr, ast.Store()), target)


def annotate(rewriter: StatementRewriter, node: ast.AnnAssign) -> list[ast.stmt]:
    """`A: T.Tensor(...)` declares a parameter; `x: T.int32 = value` binds a converted value."""
    annotation = rewriter.rewrite(node.annotation)
    if not isinstance(node.target, ast.Name):
        return [] if node.value is None else bind_value(rewriter, node)
    name = node.target.id
    if node.value is not None:
        value = method("convert", annotation, rewriter.rewrite(node.value))
        return bind(rewriter, ast.Name(name, ast.Store()), value, node)
    if name not in rewriter.parameters:
        raise TileError(
            "E1102",
            f"{name!r} is annotated but is neither assigned nor a parameter of the function",
            node_span(node, rewriter.file),
            help=f"add {name} to the function's parameters, or make an output with T.empty(...)",
        )
    return [at(ast.Assign([store(name)], method("declare", text(name), annotation)), node)]


def bind_value(rewriter: StatementRewriter, node: ast.AnnAssign) -> list[ast.stmt]:
    """`obj.field: ann = value` is an assignment; Python evaluates such an annotation for its
    effects only.
    """
    assert node.value is not None
    return bind(rewriter, node.target, rewriter.rewrite(node.value), node)
