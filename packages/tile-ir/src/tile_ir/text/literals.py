"""Literals as text and back, bit for bit.

`1` is i32, `1.0` is f32, `true` is bool; any other type follows the number: `5:i64`, `1.0:f16`. A
float is written with the fewest decimal digits that give its value back when read as a double and
rounded once to its type.
"""

from __future__ import annotations

import math
import re
import struct
from functools import lru_cache

from tile_ir.diag import TileError
from tile_ir.numerics import convert
from tile_ir.types import DType, dtype, f32, f64, i32

Scalar = bool | int | float

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPES = {v[1]: k for k, v in _ESCAPES.items()}
_NAME = re.compile(r"[^\W\d]\w*\Z")
_ESCAPED = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_CANONICAL_NAN = 0x7FF8000000000000


def quote(text: str) -> str:
    """The text in double quotes, on one line."""
    out = []
    for ch in text:
        plain = ch.isprintable() and ch not in _ESCAPES
        out.append(ch if plain else _ESCAPES.get(ch) or f"\\u{{{ord(ch):x}}}")
    return '"' + "".join(out) + '"'


def unquote(text: str) -> str:
    """The inverse of `quote`.

    Raises:
        TileError: E0016 for an unknown escape.
    """

    def escape(match: re.Match[str]) -> str:
        code, letter = match.groups()
        if code is not None and int(code, 16) < 0x110000:
            return chr(int(code, 16))
        if letter in _UNESCAPES:
            return _UNESCAPES[letter]
        raise TileError(
            "E0016",
            f"unknown escape {match[0]} in a string",
            help=r"a string knows \\, \", \n, \t, \r and \u{hex}",
        )

    return _ESCAPED.sub(escape, text[1:-1])


def word(text: str) -> str:
    """The text itself where it is a name, else quoted."""
    return text if text.isidentifier() and _NAME.match(text) else quote(text)


def print_const(value: Scalar, t: DType) -> str:
    """A literal of type `t`."""
    if isinstance(value, bool):
        text = "true" if value else "false"
        return text if t.is_bool else f"{text}:{t}"
    if isinstance(value, int):
        return str(value) if t is i32 else f"{value}:{t}"
    return _print_float(struct.pack("<d", value), t)


@lru_cache(maxsize=4096)
def _print_float(packed: bytes, t: DType) -> str:
    value: float = struct.unpack("<d", packed)[0]
    suffix = "" if t is f32 else f":{t}"
    if math.isnan(value):
        bits = int.from_bytes(packed, "little")
        return ("nan" if bits == _CANONICAL_NAN else f"nan({bits:#x})") + suffix
    if math.isinf(value):
        return ("inf" if value > 0 else "-inf") + suffix
    return _shortest(value, t) + suffix


def _shortest(value: float, t: DType) -> str:
    if t is not f64 and t.is_float:
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if math.isfinite(short) and convert(short, f64, t.scalar) == value:
                return repr(short)
    return repr(value)


@lru_cache(maxsize=4096)
def parse_number(text: str, negative: bool) -> tuple[Scalar, DType]:
    """The value and type of a number token, with a minus sign before it when `negative`.

    Raises:
        TileError: E0007 for an unknown type, E0010 for a value that the type does not have.
    """
    digits, _, suffix = text.partition(":")
    named = named_type(suffix) if suffix else None
    if digits.isdecimal() or (digits[:2] in ("0x", "0X") and "p" not in digits.lower()):
        value = int(digits, 0 if digits[1:2] in "xX" else 10)
        return _integer(-value if negative else value, named or i32)
    t = named or f32
    if not t.is_float:
        fix = "write true or false" if t.is_bool else "write a whole number, or name a float type"
        raise TileError("E0010", f"{digits} is no value of {t}", help=fix)
    number = _float(digits)
    number = -number if negative and not math.isnan(number) else number
    # A conversion would replace the bits of a NaN.
    return number if math.isnan(number) else convert(number, f64, t), t


def _float(digits: str) -> float:
    if digits.startswith("nan"):
        pattern = int(digits[4:-1], 16) if len(digits) > len("nan") else _CANONICAL_NAN
        value: float = struct.unpack("<d", pattern.to_bytes(8, "little"))[0]
        return value
    return float.fromhex(digits) if "x" in digits.lower() else float(digits)


def _integer(value: int, t: DType) -> tuple[int, DType]:
    if not t.is_int:
        raise TileError(
            "E0010",
            f"{value} is an integer, {t} is not",
            help="write true or false" if t.is_bool else f"write {value}.0:{t}",
        )
    if not t.min_value <= value <= t.max_value:
        raise TileError(
            "E0010",
            f"{value} does not fit in {t}",
            notes=(f"{t} holds {t.min_value} to {t.max_value}",),
            help=_wider(value, t),
        )
    return value, t


def _wider(value: int, t: DType) -> str:
    types = (dtype(name).with_lanes(t.lanes) for name in ("i32", "i64", "u64"))
    wide = next((w for w in types if w.min_value <= value <= w.max_value), None)
    if wide is None:
        return "no integer type holds it: write a float, with a point"
    return f"name a wider type, as in {value}:{wide}"


def named_type(name: str) -> DType:
    """The type of that canonical name.

    Raises:
        TileError: E0007.
    """
    found = find_type(name)
    if found is None:
        raise TileError(
            "E0007",
            f"there is no type {name}",
            help="types are bool, i4 to i64, u4 to u64, f16, bf16, tf32, f32, f64, f8..., f6..., "
            "f4..., with lanes as in f32x4",
        )
    return found


@lru_cache(maxsize=1024)
def find_type(name: str) -> DType | None:
    """The type of that canonical name, or None."""
    try:
        found = dtype(name)
    except TileError:
        return None
    return found if found.name == name else None
