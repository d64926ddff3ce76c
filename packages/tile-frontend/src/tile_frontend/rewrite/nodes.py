"""Small constructors of AST nodes. A new node takes its place from the node it stands for."""

from __future__ import annotations

import ast
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)

FRAME = "__tile_frame__"
"""The local name of the frame in rewritten code."""
ENTER = "__tile_enter__"
"""The free variable that makes the frame."""


def at(new: N, old: ast.AST) -> N:
    """Give `new` and everything below it that has no place the place of `old`."""
    ast.copy_location(new, old)
    return ast.fix_missing_locations(new)


def load(name: str) -> ast.Name:
    """A read of a local name."""
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    """A local name as an assignment target."""
    return ast.Name(name, ast.Store())


def method(name: str, *args: ast.expr) -> ast.Call:
    """A call of the frame's method `name`."""
    return ast.Call(ast.Attribute(load(FRAME), name, ast.Load()), list(args), [])


def text(value: str) -> ast.Constant:
    """A string literal."""
    return ast.Constant(value)


def lazily(body: ast.expr) -> ast.Lambda:
    """A function of no arguments that evaluates `body`."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return at(ast.Lambda(empty, body), body)


def assign(target: str, value: ast.expr) -> ast.Assign:
    """`target = value`."""
    return ast.Assign([store(target)], value)
