"""Every element type as an object: compared with any spelling, called to make constants and
conversions.

`T.float16(1)` is a constant, `T.float16(x)` converts, `T.dtype("float16")` finds a type by name.
"""

from __future__ import annotations

from typing import Any

from tile_frontend.trace.element_types import LONG_NAMES
from tile_frontend.trace.values import dtype
from tile_ir import types

_LANES = (2, 4, 8, 16, 32, 64)
_ALIASES = {
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "uint": "uint32",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "boolean": "bool",
    "float8_e4m3": "float8_e4m3fn",
}

OBJECTS: dict[str, dtype] = {long: dtype(short) for short, long in LONG_NAMES.items()}
"""Name -> element type: every scalar, its aliases, and the vectors of 2 to 64 lanes."""
OBJECTS.update({alias: OBJECTS[name] for alias, name in _ALIASES.items()})
OBJECTS.update(
    {
        f"{long}x{lanes}": dtype(types.dtype(short).with_lanes(lanes))
        for short, long in LONG_NAMES.items()
        for lanes in _LANES
        if long not in ("bool", "float4_e2m1_unpacked")
    }
)


def is_float4(spelling: Any) -> bool:
    """Whether a type is a 4-bit float, packed or not.

    Raises `TileError` E0201 for an unknown type.
    Example: `T.is_float4(T.float4_e2m1fn)`
    """
    return dtype(spelling).is_float4()


def is_float4_e2m1fn(spelling: Any) -> bool:
    """Whether a type is the packed 4-bit float.

    Raises `TileError` E0201 for an unknown type.
    Example: `T.is_float4_e2m1fn(T.float4_e2m1fn)`
    """
    return dtype(spelling).is_float4_e2m1fn()


def is_float4_e2m1_unpacked(spelling: Any) -> bool:
    """Whether a type is the 4-bit float that takes a byte.

    Raises `TileError` E0201 for an unknown type.
    Example: `T.is_float4_e2m1_unpacked(T.float16)`
    """
    return dtype(spelling).is_float4_e2m1_unpacked()


__all__ = sorted([*OBJECTS, "dtype", "is_float4", "is_float4_e2m1_unpacked", "is_float4_e2m1fn"])
globals().update(OBJECTS)
