"""The words that may stand for a parameter of a C template, and the words that follow from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_cpu.prelude.formats import FORMAT_WORDS, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["CARRIERS", "DERIVED", "PARAMETERS", "UNIT_GROUPS"]

CARRIERS = {
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "f64": "double",
    "f32": "float",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "bool": "uint8_t",
    **dict.fromkeys(("f8e4m3fn", "f8e4m3fnuz", "f8e4m3b11fnuz", "f8e3m4"), "uint8_t"),
    **dict.fromkeys(("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"), "uint8_t"),
    **dict.fromkeys(("f6e2m3fn", "f6e3m2fn", "f4e2m1fn", "i4", "u4"), "uint8_t"),
    **dict.fromkeys(("pair", "words", "quad", "squad"), "int32_t"),
}
"""Element type or unit -> C type of one. Types without arithmetic in C are carried as their bits;
4-bit ones have a byte each, code in the low half (memory holds two in a byte: see packed4.h)."""

BYTES = ("int8_t", "uint8_t")

UNIT_GROUPS = {"f32": 1, "f64": 1, "i32": 1, "pair": 2, "words": 2, "quad": 4, "squad": 4}
"""Unit of a packed matrix operand (see units.h) -> elements along k that it holds."""

NARROW_FLOATS = frozenset(
    [
        "f16",
        "bf16",
        "f8e4m3fn",
        "f8e4m3fnuz",
        "f8e4m3b11fnuz",
        "f8e3m4",
        "f8e5m2",
        "f8e5m2fnuz",
        "f8e8m0fnu",
        "f6e2m3fn",
        "f6e3m2fn",
        "f4e2m1fn",
    ]
)
INTEGERS = frozenset(["bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
SMALL = {
    "i4": (-8, 7),
    "u4": (0, 15),
    **{f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16)},
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16)},
}
"""Integers that f32 holds exactly -> their bounds."""

UNARY = frozenset(
    [
        "exp",
        "exp2",
        "exp10",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
    ]
)
BINARY = frozenset(["pow", "fmod", "atan2", "hypot", "nextafter"])

PARAMETERS: dict[str, Collection[str]] = {
    "BYTE": frozenset(name for name, carrier in CARRIERS.items() if carrier in BYTES),
    "DT": CARRIERS,
    "FT": NARROW_FLOATS,
    "INT": INTEGERS,
    "SMALL": SMALL,
    "UNIT": UNIT_GROUPS,
    "CALL1": UNARY,
    "CALL2": BINARY,
    "CALL3": frozenset({"fma"}),
}
"""Word that stands for a parameter in the name of a template -> what it may be. Of templates with
as many parameters that of the first word wins."""


def _integer_of(words: Mapping[str, str], sign: str) -> str:
    carrier = CARRIERS[words["DT"]]
    bits = {"double": "64", "float": "32"}.get(carrier) or re.sub(r"\D", "", carrier)
    return sign + bits


def _builtin(words: Mapping[str, str]) -> str:
    call = next(words[name] for name in ("CALL1", "CALL2", "CALL3") if name in words)
    return f"__builtin_{call}" + ("f" if words["DT"] == "f32" else "")


def _numbers(first: int, end: int, step: int = 1) -> str:
    return ", ".join(str(i) for i in range(first, end, step))


def _alternate(half: int) -> str:
    return ", ".join(f"{i}, {half + i}" for i in range(half))


DERIVED: dict[str, tuple[str, Callable[[Mapping[str, str]], str]]] = {
    "xN": ("LANES", lambda w: f"x{w['LANES']}"),
    "xH": ("LANES", lambda w: f"x{int(w['LANES']) // 2}"),
    "IOTA": ("LANES", lambda w: _numbers(0, int(w["LANES"]))),
    "LOW": ("LANES", lambda w: _numbers(0, int(w["LANES"]) // 2)),
    "HIGH": ("LANES", lambda w: _numbers(int(w["LANES"]) // 2, int(w["LANES"]))),
    "ALTERNATE": ("LANES", lambda w: _alternate(int(w["LANES"]) // 2)),
    "EVEN": ("LANES", lambda w: _numbers(0, int(w["LANES"]), 2)),
    "ODD": ("LANES", lambda w: _numbers(1, int(w["LANES"]), 2)),
    "LOWEST": ("SMALL", lambda w: f"{SMALL[w['SMALL']][0]}"),
    "HIGHEST": ("SMALL", lambda w: f"{SMALL[w['SMALL']][1]}"),
    "CARRIER": ("DT", lambda w: CARRIERS[w["DT"]]),
    "IT": ("DT", lambda w: _integer_of(w, "i")),
    "UT": ("DT", lambda w: _integer_of(w, "u")),
    "BUILTIN": ("DT", _builtin),
    "GROUP": ("UNIT", lambda w: str(UNIT_GROUPS[w["UNIT"]])),
    **{
        word: ("FT", lambda w, word=word: format_number(word, w["FT"]))  # type: ignore[misc]
        for word in FORMAT_WORDS
    },
}
"""Word in the text of a template -> (the parameter it follows from, how)."""
