"""CUDA C++ where it differs from what all device targets write."""

from __future__ import annotations

from tile_cuda.intrinsics.functions import call_text
from tile_passes.emit.device_dialect import Words, device_dialect
from tile_passes.emit.packed_halves import with_packed_halves

__all__ = ["DIALECT"]

DIALECT = with_packed_halves(
    device_dialect(
        Words(
            call=call_text,
            to_f32="__uint_as_float({})",
            to_f64="__longlong_as_double({})",
            from_f32="__float_as_uint({})",
            from_f64="__double_as_longlong({})",
            abs_f32="fabsf({})",
            abs_f64="fabs({})",
        )
    )
)
"""How every type is carried, converted, loaded and stored."""
