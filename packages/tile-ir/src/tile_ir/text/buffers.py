"""Buffer declarations and layouts as text and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.core import SCOPES, Buffer
from tile_ir.diag import TileError
from tile_ir.layout import Layout, parse_layout
from tile_ir.text.cursor import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr
    from tile_ir.text.expr_parser import ExprParser


def print_buffer(b: Buffer, expr: Callable[[Expr], str]) -> str:
    """`name: scope dtype[shape]`, then each property that is not the default."""
    text = f"{b.name}: {b.scope} {b.dtype}[{', '.join(map(expr, b.shape))}]"
    if b.strides is not None:
        text += f" strides ({', '.join(map(expr, b.strides))})"
    if b.slots != 1:
        text += f" slots {b.slots}"
    if b.offset is not None:
        text += f" offset {b.offset}"
    if b.safe_value is not None:
        text += f" safe {expr(b.safe_value)}"
    return text if b.layout is None else f"{text} layout {print_layout(b.layout)}"


def print_layout(layout: Layout | None) -> str:
    """The layout's own text in brackets."""
    return f"[{layout}]"


def parse_buffer(q: ExprParser) -> Buffer:
    """The declaration of a buffer; its span is the place of its name."""
    at = q.at
    name = q.name("the name of a buffer")
    q.take(":")
    scope = _scope(q)
    dtype = q.type_name()
    shape = q.indices()
    properties: dict[str, Any] = {}
    while True:
        found = next((w for w in _PROPERTIES if w not in properties and q.accept_word(w)), None)
        if found is None:
            break
        properties[found] = _PROPERTIES[found](q)
    return Buffer(
        name=name,
        dtype=dtype,
        shape=shape,
        scope=scope,
        strides=properties.get("strides"),
        layout=properties.get("layout"),
        offset=properties.get("offset"),
        slots=properties.get("slots", 1),
        safe_value=properties.get("safe"),
        span=q.span(at),
    )


def _scope(q: ExprParser) -> str:
    at = q.at
    scope = q.name("a memory scope")
    if scope not in SCOPES:
        raise q.error(
            "E0004",
            f"expected a memory scope, found `{scope}`",
            suggestion(scope, SCOPES, f"scopes are {', '.join(SCOPES)}"),
            at,
        )
    return scope


def parse_layout_text(q: ExprParser) -> Layout:
    """`[...]`, read by the layout grammar.

    Raises:
        TileError: E0019 with the layout parser's message, placed here.
    """
    first = q.at
    q.take("[")
    depth = 1
    while depth:
        kind = q.kinds[q.at]
        depth += (kind == "[") - (kind == "]")
        if q.texts[q.at] == "":
            raise q.expected("`]`")
        q.at += 1
    tokens = q.tokens
    text = tokens.source.text[tokens.ends[first] : tokens.starts[q.at - 1]]
    try:
        return parse_layout(text)
    except TileError as error:
        span = q.span(first, q.at - 1)
        raise TileError("E0019", error.message, span, error.notes, help=error.help) from None


_PROPERTIES: dict[str, Callable[[ExprParser], Any]] = {
    "strides": lambda q: q.enclosed(q.expr),
    "slots": lambda q: q.integer(),
    "offset": lambda q: q.integer(),
    "safe": lambda q: q.expr(),
    "layout": parse_layout_text,
}
"""The optional properties after a buffer's shape, in canonical order."""
