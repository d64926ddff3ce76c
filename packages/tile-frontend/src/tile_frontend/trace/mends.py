"""Mends that take no thought: an operator that the language writes as a call, rewritten in the
user's own source."""

from __future__ import annotations

import ast
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.diag import Fix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.diag import Span

__all__ = ["mend_for"]

_CALLS: Mapping[tuple[str, type[ast.operator]], str] = MappingProxyType(
    {
        ("E1206", ast.Pow): "T.pow({a}, {b})",
        ("E0204", ast.FloorDiv): "T.floor({a} / {b})",
        ("E0204", ast.Mod): "T.fmod({a}, {b})",
    }
)
"""Code and operator -> what to write in its place."""
_LOOSE = (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.BoolOp)
"""Operands that need parentheses beside another operator."""


def mend_for(code: str, span: Span | None) -> Fix | None:
    """The fix of an error at a place; None where its code has none, or the place is no operator."""
    if span is None or span.end_col is None or not any(code == c for c, _ in _CALLS):
        return None
    text = (span.text() or "")[span.col : span.end_col]
    try:
        found = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    wanted = _CALLS.get((code, type(found.op))) if isinstance(found, ast.BinOp) else None
    if wanted is None or not isinstance(found, ast.BinOp):
        return None
    enclosed = "{a}, {b}" in wanted
    a, b = (_operand(text, side, enclosed) for side in (found.left, found.right))
    return Fix(text, wanted.format(a=a, b=b))


def _operand(text: str, side: ast.expr, enclosed: bool) -> str:
    found = ast.get_source_segment(text, side) or ""
    return f"({found})" if isinstance(side, _LOOSE) and not enclosed else found
