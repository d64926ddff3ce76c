"""Finding the AST of a function object, with the file's own line and column numbers."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING

from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from types import CodeType, FunctionType

_Index = dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef]
_INDEXED: dict[str, tuple[list[str], _Index]] = {}


def function_node(fn: FunctionType) -> ast.FunctionDef:
    """Return the definition of `fn` as parsed from its file.

    The whole file is parsed (once) rather than the function's lines, so that positions need no
    correction.
    Raises `TileError` E1001 when the source is not at hand, E1002 for an async function.
    """
    code = fn.__code__
    linecache.checkcache(code.co_filename)  # a module may have been edited and loaded again
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines:
        raise _no_source(code)
    known = _INDEXED.get(code.co_filename)
    if known is None or known[0] is not lines:
        known = (lines, _index(lines, code))
        _INDEXED[code.co_filename] = known
    node = known[1].get((code.co_name, code.co_firstlineno))
    if node is None:
        raise _no_source(code)
    if isinstance(node, ast.AsyncFunctionDef):
        raise TileError(
            "E1002",
            "`async def` has no meaning in a kernel",
            header_span(node, code.co_filename),
            help="define the kernel with `def`; asynchronous copies come from T.Pipelined",
        )
    return node


def _index(lines: list[str], code: CodeType) -> _Index:
    try:
        tree = ast.parse("".join(lines), code.co_filename)
    except SyntaxError as cause:
        raise _no_source(code) from cause
    found: _Index = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # A decorated function's code object starts at its first decorator.
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[(node.name, first)] = node
    return found


def _no_source(code: CodeType) -> TileError:
    return TileError(
        "E1001",
        f"the source of {code.co_name!r} is not available",
        Span(code.co_filename, code.co_firstlineno),
        notes=(
            "a kernel is read from its source text, so text made by exec(), a lambda, or a file "
            "that changed "
            "after it was imported cannot be traced",
        ),
        help="define the kernel with `def` in a file or a notebook cell, and restart after "
        "editing it",
    )


def node_span(node: ast.expr | ast.stmt | ast.excepthandler, file: str) -> Span:
    """The place of a node. Columns of `ast` count UTF-8 bytes; carets want characters."""
    line = linecache.getline(file, node.lineno)
    end_line = node.end_lineno or node.lineno
    end_col = node.end_col_offset
    if end_col is not None and not line.isascii() and end_line == node.lineno:
        end_col = _characters(line, end_col)
    col = node.col_offset if line.isascii() else _characters(line, node.col_offset)
    return Span(file, node.lineno, col, end_line, end_col)


def header_span(node: ast.stmt, file: str) -> Span:
    """The place of a compound statement's first line, of anything else in full."""
    span = node_span(node, file)
    if not isinstance(getattr(node, "body", None), list) and not hasattr(node, "cases"):
        return span
    end = len(linecache.getline(file, node.lineno).rstrip())
    return Span(file, span.line, span.col, span.line, end)


def header_place(node: ast.stmt, file: str) -> ast.stmt:
    """A stand-in with the place of a compound statement's header; any other one itself."""
    if not isinstance(getattr(node, "body", None), list):
        return node
    end = len(linecache.getline(file, node.lineno).rstrip().encode())
    return ast.Pass(
        lineno=node.lineno, col_offset=node.col_offset, end_lineno=node.lineno, end_col_offset=end
    )


def _characters(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode(errors="ignore"))
