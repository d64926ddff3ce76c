"""Metal Shading Language where it differs from what all device targets write."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_metal.intrinsics.functions import call_text
from tile_passes.emit.device_dialect import C_TYPES, Words, device_dialect

if TYPE_CHECKING:
    from tile_metal.functors import Functors
    from tile_passes.emit import Dialect

__all__ = ["SPACES", "dialect_for"]

SPACES = MappingProxyType({"global": "device ", "shared": "threadgroup ", "local": "thread "})
"""Scope of memory -> its address space, which every pointer names."""
_TYPES = MappingProxyType({**C_TYPES, "i64": "long", "u64": "ulong"})


def dialect_for(functors: Functors) -> Dialect:
    """How every type is carried, converted, loaded and stored; structures that the text needs are
    added to `functors`. There is no f64: what has it is refused before it is printed."""
    return device_dialect(
        Words(
            call=partial(call_text, functors),
            to_f32="as_type<float>((uint)({}))",
            to_f64="tile_no_f64({})",
            from_f32="as_type<uint>({})",
            from_f64="tile_no_f64({})",
            abs_f32="metal::fabs({})",
            abs_f64="tile_no_f64({})",
            types=_TYPES,
            long_suffix="l",
            doubles=False,
            apply=functors.apply,
            spaces=SPACES,
        )
    )
