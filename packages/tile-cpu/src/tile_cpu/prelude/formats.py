"""The numbers of a narrow float format under the words that the conversion templates use."""

from __future__ import annotations

from functools import cache

from tile_ir.numerics import FORMAT_FACTS
from tile_ir.types import NanStyle, dtype

__all__ = ["FORMAT_WORDS", "format_number"]

NEVER = 1 << 30
"""Beyond every code of at most 16 bits: a comparison with it never holds."""


@cache
def _numbers(name: str) -> dict[str, str]:
    kind = dtype(name)
    facts, recipe, style = FORMAT_FACTS[kind], FORMAT_FACTS[kind].f32, kind.float_format.nan
    assert recipe is not None
    all_bits = facts.magnitude_mask | facts.sign_mask
    # Which codes are NaN besides those that follow infinity: (code & mask) == match.
    mask, match = {
        NanStyle.ALL_ONES: (facts.magnitude_mask, facts.magnitude_mask),
        NanStyle.NEGATIVE_ZERO: (all_bits, facts.sign_mask),
    }.get(style, (0, 1))
    return {
        "SHIFT": str(recipe.shift),
        "REBIAS": str(recipe.rebias),
        "DECODE_SCALE": f"0x1p{recipe.rebias}",
        "SUBNORMAL_MAGIC": hex(recipe.subnormal_magic),
        "SMALLEST_NORMAL": hex(recipe.smallest_normal),
        "OVERFLOW_CODE": hex(facts.overflow_code),
        "INF_CODE": hex(_or(facts.inf_code, facts.max_finite_code)),
        "NAN_CODE": hex(_or(facts.nan_code, facts.max_finite_code)),
        "FIRST_INFINITE": hex(_or(facts.inf_code, NEVER)),
        "MAGNITUDE_MASK": hex(facts.magnitude_mask),
        "NEGATIVE_ZERO": str(int(facts.has_negative_zero)),
        "SIGN_MASK": hex(facts.sign_mask),
        "SIGN_SHIFT": str(32 - facts.bits),
        "NAN_MASK": hex(mask),
        "NAN_MATCH": hex(match),
    }


def _or(code: int | None, otherwise: int) -> int:
    return otherwise if code is None else code


FORMAT_WORDS = tuple(_numbers("f16"))
"""The words, in capitals, that stand for a number of the format in a template."""


def format_number(word: str, name: str) -> str:
    """The C literal of `word` for the float type `name`."""
    return _numbers(name)[word]
