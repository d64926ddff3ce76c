"""Words of the user in C: names kept where C allows them, and strings."""

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
        *("catch", "explicit", "export", "friend", "mutable", "operator", "private", "protected"),
        *("public", "throw", "try", "typeid", "virtual", "xor", "compl", "bitand", "bitor"),
        *("linux", "unix", "NULL", "errno", "stdin", "stdout", "stderr"),
        *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    ]
)
"""Words of C, C++ and the languages derived from them that no variable may be called, macros that
compilers and headers define, and types that the generated text uses."""

_ESCAPED = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\t": r"\t", "\r": r"\r"}


def c_name(name: str) -> str:
    """`name` as an identifier: other characters become `_`, reserved words and `tile_` names get a
    `_`.
    """
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not clean or clean[0].isdigit():
        clean = f"_{clean}"
    reserved = clean in RESERVED or clean.startswith(("tile_", "__"))
    return f"{clean}_" if reserved else clean


def c_string(text: str) -> str:
    """A C string of `text`, in quotes.

    Characters that C cannot name by a number of their own (control characters, halves of pairs) are
    written in octal, or as `?`; no two question marks stand together, which C may read as another
    sign.
    """
    return re.sub(r"(?<=\?)\?", r"\\?", f'"{"".join(map(_c_char, text))}"')


def _c_char(char: str) -> str:
    code = ord(char)
    if char in _ESCAPED:
        return _ESCAPED[char]
    if code < 0x20 or code == 0x7F:
        return f"\\{code:03o}"
    if code < 0x80:
        return char
    if code < 0xA0:  # the first that \u may name
        return "".join(f"\\{byte:03o}" for byte in char.encode())
    if 0xD800 <= code < 0xE000:
        return "?"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
