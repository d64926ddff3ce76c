"""Literals in C."""

from __future__ import annotations

import math
import struct

from tile_ir.expr import Const, Expr
from tile_ir.types import f64, i64, u64

__all__ = ["literal"]


def _float_text(value: float, double: bool) -> str:
    tail = "" if double else "f"
    if math.isinf(value):
        text = f"__builtin_inf{tail}()"
        return text if value > 0 else f"-{text}"
    if math.isnan(value):
        bits = struct.pack("<d", value)
        return f'__builtin_nan{tail}("")' if bits[7] < 128 else f'-__builtin_nan{tail}("")'
    text = repr(value)
    if not double and struct.unpack("<f", struct.pack("<f", value))[0] == value:
        text = min(
            (f"{value:.{p}g}" for p in range(6, 10) if _same_f32(f"{value:.{p}g}", value)), key=len
        )
    if not any(c in text for c in ".en"):
        text += ".0"
    return text + tail


def _same_f32(text: str, value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", float(text)))[0] == value)
    except OverflowError:
        return False


def literal(e: Expr) -> str:
    """The text of a `Const`: shortest decimals that read back, suffixes only where C needs them."""
    assert isinstance(e, Const)
    if e.dtype.is_float:
        return _float_text(float(e.value), e.dtype is f64)
    value = int(e.value)
    if e.dtype.is_bool:
        return str(value)
    if e.dtype is u64:
        return f"{value}u" if value < 1 << 32 else f"{value}ull"
    if e.dtype.is_signed and value == e.dtype.min_value and e.dtype.bits >= 32:
        return f"(-{-(value + 1)}{'ll' if e.dtype is i64 else ''} - 1)"
    if e.dtype is i64 and abs(value) >= 1 << 31:
        return f"{value}ll"
    return f"{value}u" if not e.dtype.is_signed and value >= 1 << 31 else str(value)
