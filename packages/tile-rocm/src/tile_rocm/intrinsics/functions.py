"""The pure functions of the language in HIP: which function of the prelude each one is.

Nothing is called that is not inlined: there is no device library. What the compiler expands by
itself (exponentials and logarithms of f32, roots, rounding) is a builtin of it, the rest is
written out in the prelude. `ULP` has the largest errors in f32, in units in the last place; the
functions of the prelude are measured against mpmath by the tests, those of the compiler are as its
authors state them for OpenCL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.types import f64

if TYPE_CHECKING:
    from tile_ir.types import DType

__all__ = ["OWN_F32", "OWN_F64", "ULP", "call_text"]

ULP = {
    **dict.fromkeys(("exp", "exp2", "exp10", "log", "log2", "log10"), 1.0),
    **dict.fromkeys(("sin", "cos", "erf", "rsqrt"), 1.5),
    **dict.fromkeys(("log1p", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh"), 0.51),
    **dict.fromkeys(("acosh", "atanh", "atan2", "hypot", "pow"), 0.51),
    "tanh": 2.5,
    "sqrt": 0.501,
    "fmod": 0.0,
}
"""Function -> largest error in f32."""

COMPILER_BOTH = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
    "fma": "fma",
    "max_num": "fmax",
    "min_num": "fmin",
}
"""Function -> the builtin that the compiler expands for f32 and f64."""
COMPILER_F32 = frozenset({"exp", "exp2", "exp10", "log", "log2", "log10"})
"""Functions that it expands for f32 only."""
_OWN = """
exp exp2 exp10 log log2 log10 log1p rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh erf pow fmod atan2 hypot nextafter
"""
OWN_F64 = frozenset(_OWN.split())
OWN_F32 = OWN_F64 - COMPILER_F32
FAST = frozenset(f"fast_{n}" for n in ("exp", "exp10", "log", "log2", "log10", "rcp")) | frozenset(
    {"fast_sin", "fast_cos", "fast_tan"}
)
"""Approximate functions on f32, of a few instructions each; on f64 they are the accurate ones."""
PREDICATES = frozenset({"isnan", "isinf", "isfinite"})
PLACES = {
    "thread_index": "tile_thread()",
    "lane_index": "tile_lane()",
    "warp_index": "tile_wave()",
    "device_workers": "tile_blocks()",
    "block_rank": "0",
    "elected": "(tile_lane() == 0)",
}
"""Queries; blocks that stay resident are as many as were launched."""
SHUFFLES = frozenset({"shuffle_xor", "shuffle_idx"})
FOLDS = {"sum": "a + b", "and": "a & b", "or": "a | b", "xor": "a ^ b"}
NUMBER = re.compile(r"\d+")


def call_text(fn: str, carrier: DType, args: tuple[str, ...]) -> tuple[str, bool]:
    """The text of a call on carried values, and whether the result is of the arguments' own
    type."""
    inner = ", ".join(args)
    if fn in PLACES:
        return PLACES[fn], False
    if fn in SHUFFLES:
        return _shuffle(fn, args), False
    if fn.endswith("_lanes"):
        return _fold(fn.removesuffix("_lanes"), carrier, inner), True
    if fn in PREDICATES:
        return f"(bool)__builtin_{fn}({inner})", False
    if fn in ("popcount", "clz"):
        return f"tile_{fn}<{carrier.bits}>((unsigned long long)({inner}))", False
    return _math(fn, carrier, inner), True


def _math(fn: str, carrier: DType, inner: str) -> str:
    double = carrier is f64
    if fn in FAST and not double:
        return f"tile_{fn}_f32({inner})"
    if fn == "fast_rcp":
        return f"(1.0 / ({inner}))"
    name = fn.removeprefix("fast_")
    if name in COMPILER_BOTH:
        return f"__builtin_{COMPILER_BOTH[name]}{'' if double else 'f'}({inner})"
    if name in COMPILER_F32 and not double:
        return f"__builtin_{name}f({inner})"
    if name in OWN_F64:
        return f"tile_{name}_{'f64' if double else 'f32'}({inner})"
    raise InternalError("E3090", f"the function {fn} has no form in HIP")


def _shuffle(fn: str, args: tuple[str, ...]) -> str:
    """A lane that is known when the kernel is compiled takes a cheaper way."""
    value, lane = args
    if fn == "shuffle_xor" and NUMBER.fullmatch(lane):
        return f"tile_shuffle_xor_by<{lane}>({value})"
    return f"tile_{fn}({value}, {lane})"


def _fold(kind: str, carrier: DType, inner: str) -> str:
    one = carrier.scalar
    if kind in ("max", "min"):
        text = (
            f"tile_{kind}_{one.name}(a, b)"
            if one.is_float
            else f"a {'>' if kind == 'max' else '<'} b ? a : b"
        )
    else:
        text = FOLDS[kind]
    return f"tile_fold([](auto a, auto b) {{ return {text}; }}, {inner})"
