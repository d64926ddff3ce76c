"""The table of pure functions that `Call` may name: what exists, with how many arguments, on which
kinds of type.

The oracle gives each its value, each target its text. Names starting with `fast_` allow a target
its approximate form.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """One row.

    `result` is "same" (the type of the arguments), "lane" (of one of its lanes), or the name of a
    dtype. `on`: float, int or any; "exchange" takes any scalar first and i32 after it, and gives
    the type of the first.
    """

    name: str
    arity: int
    on: str
    result: str
    doc: str


def _rows(arity: int, on: str, result: str, table: dict[str, str]) -> list[Function]:
    return [Function(name, arity, on, result, doc) for name, doc in table.items()]


_UNARY_FLOAT = {
    "exp": "e to the x",
    "exp2": "2 to the x",
    "exp10": "10 to the x",
    "log": "natural logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "log1p": "log(1 + x)",
    "sqrt": "square root",
    "rsqrt": "1 / sqrt(x)",
    "sin": "sine of radians",
    "cos": "cosine of radians",
    "tan": "tangent of radians",
    "asin": "arc sine",
    "acos": "arc cosine",
    "atan": "arc tangent",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent",
    "asinh": "inverse hyperbolic sine",
    "acosh": "inverse hyperbolic cosine",
    "atanh": "inverse hyperbolic tangent",
    "erf": "error function",
    "floor": "largest integer not above x",
    "ceil": "smallest integer not below x",
    "round": "nearest integer, ties to even",
    "trunc": "integer part",
    "fast_exp": "e to the x, approximate allowed",
    "fast_exp10": "10 to the x, approximate allowed",
    "fast_log": "natural logarithm, approximate allowed",
    "fast_log2": "logarithm to base 2, approximate allowed",
    "fast_log10": "logarithm to base 10, approximate allowed",
    "fast_sin": "sine, approximate allowed",
    "fast_cos": "cosine, approximate allowed",
    "fast_tan": "tangent, approximate allowed",
    "fast_rcp": "1 / x, approximate allowed",
}

_TABLE = [
    *_rows(1, "float", "same", _UNARY_FLOAT),
    *_rows(
        2,
        "float",
        "same",
        {
            "pow": "x to the y",
            "fmod": "remainder with the sign of x",
            "atan2": "angle of (y, x)",
            "copysign": "magnitude of x, sign of y",
            "hypot": "sqrt(x*x + y*y)",
            "nextafter": "the neighbour of x towards y",
            "max_num": "maximum, a NaN loses",
            "min_num": "minimum, a NaN loses",
        },
    ),
    *_rows(3, "float", "same", {"fma": "x*y + z, rounded once"}),
    *_rows(
        1,
        "float",
        "bool",
        {"isnan": "is it a NaN", "isinf": "is it infinite", "isfinite": "is it finite"},
    ),
    *_rows(
        1,
        "int",
        "i32",
        {"popcount": "number of set bits", "clz": "leading zero bits, the width for 0"},
    ),
    *_rows(
        1,
        "any",
        "lane",
        {
            "sum_lanes": "sum of the lanes of a vector, in any order",
            "max_lanes": "largest lane, a NaN wins",
            "min_lanes": "smallest lane, a NaN wins",
            "and_lanes": "bitwise and of the lanes",
            "or_lanes": "bitwise or of the lanes",
            "xor_lanes": "bitwise exclusive or of the lanes",
        },
    ),
    *_rows(
        0,
        "any",
        "i32",
        {
            "device_workers": "blocks that run at once on the device",
            "warp_width": "threads of a warp, 32 on a target without warps",
            "thread_index": "number of this thread in its block, from 0",
            "lane_index": "number of this thread in its warp, from 0",
            "warp_index": "number of this thread's warp in its block, from 0; asked by all lanes",
            "block_rank": "number of this block in its cluster, from 0",
        },
    ),
    *_rows(1, "any", "u64", {"ballot": "the lanes of the warp in which x holds, a bit for each"}),
    *_rows(0, "any", "bool", {"elected": "true in one thread of the warp, the same at every call"}),
    *_rows(
        2,
        "exchange",
        "same",
        {
            "shuffle_xor": "x of lane `this ^ y`; all lanes of a warp call it",
            "shuffle_idx": "x of lane y; all lanes of a warp call it",
        },
    ),
]

FUNCTIONS: dict[str, Function] = {row.name: row for row in _TABLE}
"""Every function by name."""
