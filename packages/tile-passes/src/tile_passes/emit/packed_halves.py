"""Vectors of f16 kept as memory holds them, two in a word, and computed with two at a time.

Other vectors of narrow floats are carried as f32 and rounded after every operation. A device that
adds and multiplies words of two halves gives the same numbers without a conversion: a sum or a
product of f16 that f32 holds and f16 rounds is what the device rounds once, since f32 has twice the
digits and two more. What the device has no instruction for is done in f32 and put back.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tile_ir.types import f16, f32, u16
from tile_passes.emit.dialect import COMPARISONS

if TYPE_CHECKING:
    from tile_ir.types import DType
    from tile_passes.emit.dialect import Dialect

__all__ = ["DECODE", "is_pair", "with_packed_halves"]

_TOGETHER = frozenset({"add", "sub", "mul"})
"""Operators that the prelude has for words, as `tile_OP_f16`."""
_OF_NO_HALVES = frozenset({"isnan", "isinf", "isfinite"})
"""Functions of floats that give truth values."""
DECODE = "tile_f16_to_f32("
"""How a carried half begins that was made from bits."""


def is_pair(dtype: DType) -> bool:
    """Whether values of this type are kept as words of two halves."""
    return dtype.scalar is f16 and dtype.lanes % 2 == 0


def with_packed_halves(base: Dialect) -> Dialect:
    """The dialect, of a device whose prelude has `tile_add_f16` and its like for words, with
    vectors of f16 as words."""
    return replace(
        base,
        carrier=partial(_carrier, base),
        operator=partial(_operator, base),
        unary=partial(_unary, base),
        cast=partial(_cast, base),
        bitcast=partial(_bitcast, base),
        call=partial(_call, base),
        read=partial(_read, base),
        write=partial(_write, base),
        broadcast=partial(_broadcast, base),
        write_converts=partial(_write_converts, base),
    )


def _opened(text: str) -> str:
    return f"tile_decode_f16({text})"


def _shut(text: str) -> str:
    return f"tile_encode_f16({text})"


def _carrier(base: Dialect, dtype: DType) -> str:
    return base.storage(dtype) if is_pair(dtype) else base.carrier(dtype)


def _operator(base: Dialect, op: str, dtype: DType, a: str, b: str) -> str:
    if not is_pair(dtype):
        return base.operator(op, dtype, a, b)
    if op in _TOGETHER:
        return f"tile_{op}_f16({a}, {b})"
    made = base.operator(op, dtype, _opened(a), _opened(b))
    return made if op in COMPARISONS else _shut(made)


def _unary(base: Dialect, op: str, dtype: DType, a: str) -> str:
    if not is_pair(dtype):
        return base.unary(op, dtype, a)
    made = base.unary(op, dtype, _opened(a))
    return made if op == "not" else _shut(made)


def _cast(base: Dialect, src: DType, dst: DType, text: str) -> str:
    if src is dst:
        return text
    text = _opened(text) if is_pair(src) else text
    if not is_pair(dst):
        return base.cast(src, dst, text)
    return _shut(text if src.scalar is f32 else base.cast(src, dst, text))


def _bitcast(base: Dialect, src: DType, dst: DType, text: str) -> str:
    same = is_pair(src) or is_pair(dst)
    codes = src.scalar is u16 or dst.scalar is u16
    return text if same and codes else base.bitcast(src, dst, text)


def _call(base: Dialect, fn: str, dtype: DType, args: tuple[str, ...]) -> str:
    if not is_pair(dtype):
        return base.call(fn, dtype, args)
    if fn == "fma":
        return f"tile_fma_f16({', '.join(args)})"
    made = base.call(fn, dtype, tuple(map(_opened, args)))
    return made if fn in _OF_NO_HALVES or fn.endswith("_lanes") else _shut(made)


def _read(base: Dialect, dtype: DType, array: str, offset: str) -> str:
    if is_pair(dtype):
        return f"tile_load<{dtype.lanes}>(&{array}[{offset}])"
    return base.read(dtype, array, offset)


def _write(base: Dialect, dtype: DType, array: str, offset: str, value: str) -> str:
    if is_pair(dtype):
        return f"tile_store(&{array}[{offset}], {value})"
    return base.write(dtype, array, offset, value)


def _broadcast(base: Dialect, dtype: DType, text: str) -> str:
    if is_pair(dtype):
        return f"tile_splat<{dtype.lanes}>({_code(text)})"
    return base.broadcast(dtype, text)


def _write_converts(base: Dialect, src: DType, dst: DType) -> bool:
    return not (is_pair(src) or is_pair(dst)) and base.write_converts(src, dst)


def _code(text: str) -> str:
    """The bits of a carried half: those that it was made from, where it was."""
    inner = text.removeprefix(DECODE).removesuffix(")")
    if len(inner) == len(text) - len(DECODE) - 1 and _balanced(inner):
        return inner
    return f"tile_f32_to_f16({text})"


def _balanced(text: str) -> bool:
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0
