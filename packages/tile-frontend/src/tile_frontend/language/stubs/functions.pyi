# Written by docs/generate/stubs.py: run nox -s surface.
"""Functions that the language makes in loops."""

from typing import Any

Ref: Any
"""Annotation of a macro's parameter that names the caller's variable itself: assigning to it
stores there.
"""
def __cos(x: Any) -> Any:
    """Cosine, approximate allowed."""
def __exp(x: Any) -> Any:
    """E to the x, approximate allowed."""
def __exp10(x: Any) -> Any:
    """10 to the x, approximate allowed."""
def __ffs(x: Any) -> Any:
    """The number of the lowest bit set, counted from 1; 0 where none is set. An int32."""
def __fns(mask: Any, base: Any, offset: Any) -> Any:
    """The place of the n-th bit set in a uint32, from bit `base` on: upwards for a positive
    `offset` n, downwards for a negative one, `base` itself for 0. 0xffffffff where there is
    none.
    """
def __ldg(src: Any, *indices: Any) -> Any:
    """An element, read through the read-only cache where a device has one."""
def __log(x: Any) -> Any:
    """Natural logarithm, approximate allowed."""
def __log10(x: Any) -> Any:
    """Logarithm to base 10, approximate allowed."""
def __log2(x: Any) -> Any:
    """Logarithm to base 2, approximate allowed."""
def __sin(x: Any) -> Any:
    """Sine, approximate allowed."""
def __tan(x: Any) -> Any:
    """Tangent, approximate allowed."""
def acos(x: Any) -> Any:
    """Arc cosine."""
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine."""
def asin(x: Any) -> Any:
    """Arc sine."""
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
def atan(x: Any) -> Any:
    """Arc tangent."""
def atan2(x: Any, y: Any) -> Any:
    """Angle of (y, x)."""
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent."""
def ceil(x: Any) -> Any:
    """Smallest integer not below x."""
def clz(x: Any) -> Any:
    """Leading zero bits, the width for 0."""
def copysign(x: Any, y: Any) -> Any:
    """Magnitude of x, sign of y."""
def cos(x: Any) -> Any:
    """Cosine of radians."""
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
def erf(x: Any) -> Any:
    """Error function."""
def exp(x: Any) -> Any:
    """E to the x."""
def exp10(x: Any) -> Any:
    """10 to the x."""
def exp2(x: Any) -> Any:
    """2 to the x."""
def fast_rcp(x: Any) -> Any:
    """1 / x, approximate allowed."""
def floor(x: Any) -> Any:
    """Largest integer not above x."""
def fmod(x: Any, y: Any) -> Any:
    """Remainder with the sign of x."""
def hypot(x: Any, y: Any) -> Any:
    """Sqrt(x*x + y*y)."""
def isfinite(x: Any) -> Any:
    """Is it finite."""
def isinf(x: Any) -> Any:
    """Is it infinite."""
def isnan(x: Any) -> Any:
    """Is it a NaN."""
def ldg128(src: Any, pred: Any = ...) -> Any:
    """128 bits of a global buffer from the place `src` on, as a vector of 4 uint32."""
def ldg256(src: Any, pred: Any = ...) -> Any:
    """256 bits of a global buffer from the place `src` on, as a vector of 8 uint32."""
def ldg32(src: Any, pred: Any = ...) -> Any:
    """32 bits of a global buffer from the place `src` on, as a uint32."""
def ldg64(src: Any, pred: Any = ...) -> Any:
    """64 bits of a global buffer from the place `src` on, as a vector of 2 uint32."""
def lds128(src: Any, pred: Any = ...) -> Any:
    """128 bits of a shared buffer from the place `src` on, as a vector of 4 uint32."""
def lds32(src: Any, pred: Any = ...) -> Any:
    """32 bits of a shared buffer from the place `src` on, as a uint32."""
def lds64(src: Any, pred: Any = ...) -> Any:
    """64 bits of a shared buffer from the place `src` on, as a vector of 2 uint32."""
def log(x: Any) -> Any:
    """Natural logarithm."""
def log10(x: Any) -> Any:
    """Logarithm to base 10."""
def log1p(x: Any) -> Any:
    """Log(1 + x)."""
def log2(x: Any) -> Any:
    """Logarithm to base 2."""
def nearbyint(x: Any) -> Any:
    """Nearest integer, ties to even."""
def nextafter(x: Any, y: Any) -> Any:
    """The neighbour of x towards y."""
def popcount(x: Any) -> Any:
    """Number of set bits."""
def pow(x: Any, y: Any) -> Any:
    """X to the y."""
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
def sin(x: Any) -> Any:
    """Sine of radians."""
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
def sqrt(x: Any) -> Any:
    """Square root."""
def stg128(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 128 bits to a global buffer from the place `dst` on, where `pred` holds."""
def stg256(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 256 bits to a global buffer from the place `dst` on, where `pred` holds."""
def stg32(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 32 bits to a global buffer from the place `dst` on, where `pred` holds."""
def stg64(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 64 bits to a global buffer from the place `dst` on, where `pred` holds."""
def sts128(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 128 bits to a shared buffer from the place `dst` on, where `pred` holds."""
def sts32(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 32 bits to a shared buffer from the place `dst` on, where `pred` holds."""
def sts64(dst: Any, value: Any, pred: Any = ...) -> Any:
    """Write 64 bits to a shared buffer from the place `dst` on, where `pred` holds."""
def tan(x: Any) -> Any:
    """Tangent of radians."""
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
def trunc(x: Any) -> Any:
    """Integer part."""
