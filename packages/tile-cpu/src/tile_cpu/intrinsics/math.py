"""How accurate the elementary functions of the C prelude are.

Errors are in units in the last place of the result, measured against f64 references over dense and
random arguments on every instruction set that we build for, with and without contraction to FMA;
the bounds below are what the tests hold. f64 functions are those of the C library (glibc's
documented errors are at most 1 to 2 units). f16 and bf16 go through f32 and are then rounded once.
"""

from __future__ import annotations

__all__ = ["F64_ULP", "ULP"]

ULP: dict[str, float] = {
    "cos": 1.5,
    "erf": 1.4,
    "exp": 1.1,
    "exp10": 1.3,
    "exp2": 1.3,
    "log": 1.0,
    "log10": 1.0,
    "log2": 1.5,
    "pow": 0.51,
    "rsqrt": 1.5,
    "sin": 1.5,
    "sqrt": 0.501,
    "tanh": 2.5,
}
"""Function -> largest error in f32, over all arguments: sin and cos are reduced exactly for any
size."""

F64_ULP = 2.0
"""Largest error of the functions of the C library in f64."""
