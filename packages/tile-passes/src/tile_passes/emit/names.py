"""Identifiers: the user's names kept where C allows them, and made unique."""

from __future__ import annotations

import re

RESERVED = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "asm",
        "bool",
        "true",
        "false",
        "main",
        "half",
        "bfloat16",
        "class",
        "new",
        "delete",
        "this",
        "template",
        "typename",
        "namespace",
        "using",
        "kernel",
        "device",
        "constant",
        "thread",
        "threadgroup",
    ]
)
"""Words of C, C++ and the languages derived from them that no variable may be called."""


def c_name(name: str) -> str:
    """`name` as an identifier: other characters become `_`, reserved words and `tile_` names get a
    `_`.
    """
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not clean or clean[0].isdigit():
        clean = f"_{clean}"
    reserved = clean in RESERVED or clean.startswith(("tile_", "__"))
    return f"{clean}_" if reserved else clean
