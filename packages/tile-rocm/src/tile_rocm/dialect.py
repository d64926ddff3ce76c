"""HIP C++ where it differs from what all device targets write."""

from __future__ import annotations

from tile_passes.emit.device_dialect import Words, device_dialect
from tile_rocm.intrinsics.functions import call_text

__all__ = ["DIALECT"]

DIALECT = device_dialect(
    Words(
        call=call_text,
        to_f32="tile_bits_to<float>((unsigned)({}))",
        to_f64="tile_bits_to<double>((long long)({}))",
        from_f32="tile_bits_to<unsigned>({})",
        from_f64="tile_bits_to<long long>({})",
        abs_f32="__builtin_fabsf({})",
        abs_f64="__builtin_fabs({})",
    )
)
"""How every type is carried, converted, loaded and stored."""
