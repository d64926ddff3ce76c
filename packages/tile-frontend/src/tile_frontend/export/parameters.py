"""The parameters of a function as C sees them: element types by DLPack's numbers, scalars by C
type."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tile_frontend.trace.element_types import LONG_NAMES

if TYPE_CHECKING:
    from tile_ir.core import Function, Param
    from tile_ir.types import DType

__all__ = ["Kind", "c_scalar", "kinds_of", "long_name", "signature_of", "slot_of"]


class Kind(NamedTuple):
    """An element type in DLPack: `DLDataTypeCode`, bits, lanes."""

    code: int
    bits: int
    lanes: int = 1


INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
NARROW = {
    "f8e3m4": 7,
    "f8e4m3b11fnuz": 9,
    "f8e4m3fn": 10,
    "f8e4m3fnuz": 11,
    "f8e5m2": 12,
    "f8e5m2fnuz": 13,
    "f8e8m0fnu": 14,
    "f6e2m3fn": 15,
    "f6e3m2fn": 16,
    "f4e2m1fn_unpacked": 17,
}
"""Type codes of DLPack 1.1 (`dlpack.h`, DLDataTypeCode)."""
BYTES = (Kind(UINT, 8), Kind(INT, 8))


def kinds_of(t: DType) -> tuple[Kind, ...]:
    """The element types that a parameter takes, its own first, as `bind` takes arrays: bytes for
    packed types, truth values also as bytes, 8-bit floats also by their codes."""
    scalar, lanes = t.scalar, t.lanes
    if scalar.storage_bits < 8:
        return BYTES
    if scalar.is_bool:
        return (Kind(BOOL, 8, lanes), *BYTES)
    if scalar.name in NARROW:
        own = Kind(NARROW[scalar.name], scalar.bits, lanes)
        return (own, Kind(UINT, 8, lanes))
    if scalar.is_float:
        code = BFLOAT if scalar.name == "bf16" else FLOAT
        return (Kind(code, scalar.storage_bits, lanes),)
    return (Kind(INT if scalar.is_signed else UINT, scalar.bits, lanes),)


def long_name(t: DType) -> str:
    """The name of an element type that users see."""
    return LONG_NAMES[t.scalar.name]


def c_scalar(t: DType) -> str:
    """The C type of a scalar parameter; floats narrower than 32 bits travel as float."""
    if t.is_bool:
        return "_Bool"
    if t.is_float:
        return "double" if t.name == "f64" else "float"
    bits = max(t.bits, 8)
    return f"int{bits}_t" if t.is_signed else f"uint{bits}_t"


def slot_of(t: DType, text: str) -> str:
    """C text of the 8 bytes in which a scalar goes to a kernel."""
    if t.name in ("f32", "f64"):
        return f"tile_bits_{t.name}({text})"
    if t.is_float:
        return f"tile_bits_f32({_rounded(t, text)})"
    return f"(uint64_t)(int64_t){text}" if t.is_signed else f"(uint64_t){text}"


def _rounded(t: DType, text: str) -> str:
    """C text of a float of that type, kept in 32 bits: kernels compute with it as it comes."""
    form = t.float_format
    if not form.has_subnormals:  # powers of two, which are scales of tensors and no scalars
        return text
    numbers = (
        form.mantissa_bits,
        form.min_exponent,
        form.max_finite,
        int(form.inf_code is not None),
    )
    return f"tile_round({', '.join([text, *map(repr, numbers)])})"


def signature_of(fn: Function) -> tuple[object, ...]:
    """What all variants of a library have in common."""
    return (tuple(map(_declared, fn.params)), tuple(fn.results))


def _declared(p: Param) -> tuple[str, str]:
    return (p.name, "tensor" if p.scalar is None else p.scalar.dtype.name)
