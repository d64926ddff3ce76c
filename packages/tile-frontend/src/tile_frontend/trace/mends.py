"""Mends that take no thought, made in the user's own source: an operator that the language writes
as a call, a function of a library that the language has under the same name."""

from __future__ import annotations

import ast
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_frontend.trace.vocabulary import NAMES
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
_OF_A_LIBRARY = "E1005"
_MENDED = frozenset({_OF_A_LIBRARY, *(code for code, _ in _CALLS)})
_LOOSE = (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.BoolOp)
"""Operands that need parentheses beside another operator."""


def mend_for(code: str, span: Span | None) -> Fix | None:
    """The fix of an error at a place; None where its code has none, or the place is no operator."""
    if span is None or span.end_col is None or code not in _MENDED:
        return None
    text = (span.text() or "")[span.col : span.end_col]
    try:
        found = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if code == _OF_A_LIBRARY:
        return _same_name(text, found)
    wanted = _CALLS.get((code, type(found.op))) if isinstance(found, ast.BinOp) else None
    if wanted is None or not isinstance(found, ast.BinOp):
        return None
    enclosed = "{a}, {b}" in wanted
    a, b = (_operand(text, side, enclosed) for side in (found.left, found.right))
    return Fix(text, wanted.format(a=a, b=b))


def _same_name(text: str, call: ast.expr) -> Fix | None:
    """`np.exp(x)` as `T.exp(x)`, where the language has the name."""
    called = call.func if isinstance(call, ast.Call) else None
    if not isinstance(called, ast.Attribute) or called.attr not in NAMES:
        return None
    return Fix(ast.get_source_segment(text, called) or "", f"T.{called.attr}")


def _operand(text: str, side: ast.expr, enclosed: bool) -> str:
    found = ast.get_source_segment(text, side) or ""
    return f"({found})" if isinstance(side, _LOOSE) and not enclosed else found
