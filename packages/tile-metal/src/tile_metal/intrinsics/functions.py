"""The pure functions of the language in Metal: which function of its library or of the prelude each
one is.

The accurate functions are those of `metal::precise`, whatever the options of the compiler say; the
approximate ones are those of `metal::fast`. Their errors are those that the "Metal Shading Language
Specification" states (numerical compliance).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from tile_ir.types import DType
    from tile_metal.functors import Functors

__all__ = ["OWN", "call_text"]

_PRECISE = """
exp exp2 exp10 log log2 log10 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
pow fmod atan2
"""
PRECISE = frozenset(_PRECISE.split())
"""Functions of the library that have an accurate form."""
ROUNDING = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
    "fma": "fma",
    "max_num": "fmax",
    "min_num": "fmin",
}
"""Functions that are exact in every form -> their name in the library."""
OWN = frozenset({"erf", "log1p", "hypot", "nextafter", "isnan", "isinf", "isfinite"})
"""Functions that the prelude writes out: the library lacks them, or may assume that there are no
NaN."""
FAST = {f"fast_{n}": n for n in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan")}
PLACES = {
    "thread_index": "(int)thread_index",
    "lane_index": "(int)lane_index",
    "warp_index": "(int)simdgroup_index",
    "device_workers": "(int)block_count",
    "block_rank": "0",
    "elected": "(lane_index == 0)",
}
"""Queries; the names are parameters of every kernel."""
SHUFFLES = frozenset({"shuffle_xor", "shuffle_idx"})
FOLDS = {"sum": "a + b", "and": "a & b", "or": "a | b", "xor": "a ^ b"}
NOT_VALUES = frozenset({*PLACES, *SHUFFLES, "isnan", "isinf", "isfinite", "popcount", "clz"})
"""Functions whose result is not of the arguments' type, or is one of the arguments as it was."""


def call_text(
    functors: Functors, fn: str, carrier: DType, args: tuple[str, ...]
) -> tuple[str, bool]:
    """The text of a call on carried values, and whether the result is of the arguments' own
    type."""
    return _text(functors, fn, carrier, args), fn not in NOT_VALUES


def _text(functors: Functors, fn: str, carrier: DType, args: tuple[str, ...]) -> str:
    inner = ", ".join(args)
    if fn in PLACES:
        return PLACES[fn]
    if fn in SHUFFLES:
        return f"tile_{fn}({inner})"
    if fn.endswith("_lanes"):
        return functors.fold(_fold(fn.removesuffix("_lanes"), carrier), inner)
    if fn in ("popcount", "clz"):
        return f"tile_{fn}<{carrier.bits}>((ulong)({inner}))"
    if fn in PRECISE:
        return f"metal::precise::{fn}({inner})"
    if fn in ROUNDING:
        return f"metal::{ROUNDING[fn]}({inner})"
    if fn in FAST:
        return f"metal::fast::{FAST[fn]}({inner})"
    if fn == "fast_rcp":
        return f"metal::fast::divide(1.0f, {inner})"
    if fn in OWN:
        return f"tile_{fn}_f32({inner})"
    raise InternalError("E3090", f"the function {fn} has no form in Metal")


def _fold(kind: str, carrier: DType) -> str:
    one = carrier.scalar
    if kind not in ("max", "min"):
        return FOLDS[kind]
    if one.is_float:
        return f"tile_{kind}_{one.name}(a, b)"
    return f"a {'>' if kind == 'max' else '<'} b ? a : b"
