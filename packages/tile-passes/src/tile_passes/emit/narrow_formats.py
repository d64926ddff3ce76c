"""The narrow float formats as C++ structures of constants, and conversions for those without an
instruction."""

from __future__ import annotations

from tile_ir.numerics import FORMAT_FACTS
from tile_ir.types import ALL_DTYPES, DType, NanStyle, f16, tf32

__all__ = ["format_blocks"]

NEVER = 1 << 30
"""Beyond every code of at most 16 bits: a comparison with it never holds."""


def format_blocks(by_hand: frozenset[str], member: str = "static constexpr") -> dict[str, str]:
    """Name of a definition -> its text, for every narrow format; those named `by_hand` have
    conversions in the target's own prelude. `member` are the words in front of a constant of a
    structure.

    The text uses of that prelude `TILE_FN`, `tile_encode`, `tile_decode` and `tile_to_odd`.
    """
    found: dict[str, str] = {}
    for kind in ALL_DTYPES:
        if not kind.is_float or kind.bits > f16.bits or kind is tf32:
            continue
        if not FORMAT_FACTS[kind].rounds_up:
            found[f"tile_format_{kind.name}"] = _structure(kind, member)
        if kind.name not in by_hand:
            found |= _conversions(kind.name)
        if kind.name not in ("f16", "bf16"):
            found[f"tile_f64_to_{kind.name}"] = (
                f"TILE_FN unsigned char tile_f64_to_{kind.name}(double x) "
                f"{{ return tile_f32_to_{kind.name}(tile_to_odd(x)); }}"
            )
    return found


def _conversions(name: str) -> dict[str, str]:
    return {
        f"tile_f32_to_{name}": (
            f"TILE_FN unsigned char tile_f32_to_{name}(float x) "
            f"{{ return (unsigned char)tile_encode<tile_format_{name}>(x); }}"
        ),
        f"tile_{name}_to_f32": (
            f"TILE_FN float tile_{name}_to_f32(unsigned char code) "
            f"{{ return tile_decode<tile_format_{name}>(code); }}"
        ),
    }


def _structure(kind: DType, member: str) -> str:
    lines = [f"  {member} int {name} = {value};" for name, value in _numbers(kind).items()]
    recipe = FORMAT_FACTS[kind].f32
    assert recipe is not None
    scale = f"  {member} float decode_scale = 0x1p{recipe.rebias}f;"
    return "\n".join([f"struct tile_format_{kind.name} {{", *lines, scale, "};"])


def _numbers(kind: DType) -> dict[str, str]:
    facts = FORMAT_FACTS[kind]
    recipe = facts.f32
    assert recipe is not None
    all_bits = facts.magnitude_mask | facts.sign_mask
    # Which codes are NaN besides those that follow infinity: (code & mask) == match.
    mask, match = {
        NanStyle.ALL_ONES: (facts.magnitude_mask, facts.magnitude_mask),
        NanStyle.NEGATIVE_ZERO: (all_bits, facts.sign_mask),
    }.get(kind.float_format.nan, (0, 1))
    return {
        "shift": str(recipe.shift),
        "rebias": str(recipe.rebias),
        "subnormal_magic": hex(recipe.subnormal_magic),
        "smallest_normal": hex(recipe.smallest_normal),
        "overflow_code": hex(facts.overflow_code),
        "inf_code": hex(_or(facts.inf_code, facts.max_finite_code)),
        "nan_code": hex(_or(facts.nan_code, facts.max_finite_code)),
        "first_infinite": hex(_or(facts.inf_code, NEVER)),
        "magnitude_mask": hex(facts.magnitude_mask),
        "negative_zero": str(int(facts.has_negative_zero)),
        "sign_mask": hex(facts.sign_mask),
        "sign_shift": str(32 - facts.bits),
        "nan_mask": hex(mask),
        "nan_match": hex(match),
    }


def _or(code: int | None, otherwise: int) -> int:
    return otherwise if code is None else code
