"""The pure functions of the language in CUDA: which of the compiler's own functions each one is.

Errors are those that the CUDA C++ Programming Guide lists ("Mathematical Functions"), over all
arguments. All functions are compiled into the kernel from the compiler's own library; none needs a
header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.types import f64

if TYPE_CHECKING:
    from tile_ir.types import DType

__all__ = ["CUDA_NAMES", "ULP", "call_text"]

ULP = {
    **dict.fromkeys(("log", "log1p", "log2"), 1.0),
    **dict.fromkeys(("exp", "exp2", "exp10", "log10", "sin", "cos", "erf", "rsqrt", "tanh"), 2.0),
    "sqrt": 0.5,
    "pow": 4.0,
}
"""Function -> largest documented error in f32."""

RENAMED = {"round": "rint", "max_num": "fmax", "min_num": "fmin"}
_SAME = """
exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh
acosh atanh erf floor ceil trunc pow fmod atan2 copysign hypot nextafter fma
"""
SAME = frozenset(_SAME.split())
FAST = {
    "fast_exp": "__expf",
    "fast_exp10": "__exp10f",
    "fast_log": "__logf",
    "fast_log2": "__log2f",
    "fast_log10": "__log10f",
    "fast_sin": "__sinf",
    "fast_cos": "__cosf",
    "fast_tan": "__tanf",
    "fast_rcp": "tile_fast_rcp_f32",
}
"""Approximate functions on f32; on f64 they are the accurate ones."""
OWN_F32 = {"exp2": "tile_exp2_f32"}
"""Functions on f32 whose form in the prelude depends on the numerics contract."""
PREDICATES = frozenset({"isnan", "isinf", "isfinite"})
PLACES = {
    "thread_index": "(int)threadIdx.x",
    "lane_index": "tile_lane()",
    "warp_index": "tile_warp()",
    "device_workers": "(int)gridDim.x",
    "block_rank": "tile_cluster_rank()",
    "elected": "tile_elect()",
}
"""Queries; blocks that stay resident are as many as were launched."""
SHUFFLES = frozenset({"shuffle_xor", "shuffle_idx"})
FOLDS = {"sum": "a + b", "and": "a & b", "or": "a | b", "xor": "a ^ b"}
CUDA_NAMES = frozenset(
    {
        *SAME,
        *RENAMED.values(),
        *PREDICATES,
        *(f"{n}f" for n in SAME),
        "printf",
        "memcpy",
        "min",
        "max",
    }
)
"""What a variable must not be called, since it would hide the function."""


def call_text(fn: str, carrier: DType, args: tuple[str, ...]) -> tuple[str, bool]:
    """The text of a call on carried values, and whether the result is of the arguments' own
    type."""
    inner = ", ".join(args)
    if fn in PLACES:
        return PLACES[fn], False
    if fn in SHUFFLES:
        return _shuffle(fn, carrier, args), False
    if fn == "ballot":
        return f"(unsigned long long)__ballot_sync(0xffffffffu, {inner})", False
    if fn.endswith("_lanes"):
        return _fold(fn.removesuffix("_lanes"), carrier, inner), True
    if fn in PREDICATES:
        return f"(bool){fn}({inner})", False
    if fn in ("popcount", "clz"):
        return f"tile_{fn}<{carrier.bits}>((unsigned long long)({inner}))", False
    return _math(fn, carrier, inner), True


def _math(fn: str, carrier: DType, inner: str) -> str:
    double = carrier is f64
    if fn == "fast_rcp" and double:
        return f"(1.0 / ({inner}))"
    if fn in FAST and not double:
        return f"{FAST[fn]}({inner})"
    if fn in OWN_F32 and not double:
        return f"{OWN_F32[fn]}({inner})"
    name = fn.removeprefix("fast_")
    name = RENAMED.get(name, name)
    if name not in SAME and name not in RENAMED.values():
        raise InternalError("E3090", f"the function {fn} has no form in CUDA")
    return f"{name}{'' if double else 'f'}({inner})"


def _shuffle(fn: str, carrier: DType, args: tuple[str, ...]) -> str:
    """Shuffles move 4 or 8 bytes: smaller integers travel as int."""
    value, lane = args
    if carrier.bits >= 32:
        return f"tile_{fn}({value}, {lane})"
    kind = {"bool": "bool", "i8": "signed char", "u8": "unsigned char", "i16": "short"}
    return f"({kind.get(carrier.name, 'unsigned short')})tile_{fn}((int){value}, {lane})"


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
