"""Which names of a function need watching: those bound inside a block that may become a traced
scope.

A value bound in a branch or loop does not exist after it, and one rebound in a loop is not carried
to the next trip. Only loads of such names are rewritten, so that straight-line kernels pay nothing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCKS = (ast.If, ast.For, ast.While, ast.With)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def bound_in_blocks(function: ast.FunctionDef) -> frozenset[str]:
    """The names that some `if`, `for`, `while` or `with` of the function binds."""
    found: set[str] = set()
    for node in _own_nodes(function.body):
        if isinstance(node, _BLOCKS):
            found.update(
                inner.id
                for inner in _own_nodes([node])
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
            )
    return frozenset(found)


def _own_nodes(roots: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node below `roots` that belongs to the function itself, not to an inner one."""
    stack: list[ast.AST] = list(roots)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _NESTED):
            stack.extend(ast.iter_child_nodes(node))


def named_in_annotations(function: ast.FunctionDef) -> frozenset[str]:
    """The names that annotations of local names read.

    Python evaluates no such annotation, so it may not have made the names free variables.
    """
    return frozenset(
        name.id
        for node in _own_nodes(function.body)
        if isinstance(node, ast.AnnAssign)
        for name in ast.walk(node.annotation)
        if isinstance(name, ast.Name)
    )


def target_names(target: ast.expr) -> tuple[str, ...]:
    """The plain names that an assignment target binds, in order."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return tuple(name for item in target.elts for name in target_names(item))
    return ()
