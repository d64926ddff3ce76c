"""The conversion rules of `tile_ir.numerics` on arrays, and the packed form of sub-byte types.

Arrays keep values in containers: numpy dtypes, or those of ml_dtypes for the formats numpy lacks,
one element per value. ml_dtypes rounds f32 to its formats as we do, but overflows by other rules
and rounds doubles twice; so values are brought into range first, and doubles are narrowed to f32
without losing what rounding needs. The tests hold every path equal to the scalar rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.diag import InternalError
from tile_ir.types import bf16, f8e8m0fnu, f16, f32, f64, tf32

try:
    import ml_dtypes
except ModuleNotFoundError as absent:
    raise ModuleNotFoundError(
        'the oracle needs ml_dtypes: pip install "tile-ir[oracle]"', name="ml_dtypes"
    ) from absent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tile_ir.types import DType

    Array = NDArray[Any]

_ML_NAMES = {
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e3m4": "float8_e3m4",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
    "f4e2m1fn": "float4_e2m1fn",
    "f4e2m1fn_unpacked": "float4_e2m1fn",
    "i4": "int4",
    "u4": "uint4",
}


def _container(dt: DType) -> np.dtype[Any]:
    if dt.name in _ML_NAMES:
        scalar_type: type[Any] = getattr(ml_dtypes, _ML_NAMES[dt.name])
        return np.dtype(scalar_type)
    if dt.is_bool:
        return np.dtype(np.bool_)
    kind = "f" if dt.is_float else "i" if dt.is_signed else "u"
    return np.dtype(f"{kind}{dt.storage_bytes}")


_CONTAINERS: dict[DType, np.dtype[Any]] = {}


def to_numpy_dtype(dt: DType) -> np.dtype[Any]:
    """Return the container of values of type `dt`.

    tf32 lives in float32, rounded; 4-bit and 6-bit types take one byte per element here. The lanes
    of a vector type are a trailing axis of the array, so they do not show in the container.
    """
    found = _CONTAINERS.get(dt)
    if found is None:
        found = _CONTAINERS[dt] = _container(dt.scalar)
    return found


def convert_array(x: Array, src: DType, dst: DType) -> Array:
    """Return `x`, an array in the container of `src`, converted to the container of `dst`.

    Element by element this is `tile_ir.numerics.convert`, in any shape. Equal types return `x`
    itself.

    Raises:
        InternalError: `x` is not in the container of `src`.
    """
    x = np.asarray(x)
    if x.dtype != to_numpy_dtype(src):
        raise InternalError("E9001", f"array of {x.dtype} where {src} was promised")
    src, dst = src.scalar, dst.scalar
    if src is dst:
        return x
    flat = x.reshape(-1)
    with np.errstate(all="ignore"):
        return _convert(flat, src, dst).reshape(x.shape)


def _convert(x: Array, src: DType, dst: DType) -> Array:
    plain = _as_float(x, src) if src.is_float else _as_integer(x, src)
    if dst.is_bool:
        return np.asarray(plain != 0)
    if dst.is_float:
        return _round(plain if src.is_float else _exact_float(plain, dst), dst)
    return _wrap(_truncate(plain, dst) if src.is_float else plain, dst)


def _as_float(x: Array, src: DType) -> Array:
    return x if src is f64 else x.astype(np.float32)


def _as_integer(x: Array, src: DType) -> Array:
    return x.astype(np.int8 if src.is_signed else np.uint8) if src.bits < 8 else x


def _exact_float(x: Array, dst: DType) -> Array:
    """Return integers as f64: exact, or beyond 2**53 rounded to odd for narrowing to `dst`."""
    if dst is f64 or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    negative = x < 0
    unsigned = x.astype(np.uint64)
    magnitude = np.where(negative, 0 - unsigned, unsigned)
    dropped = np.uint64(0x7FF)
    sticky = ((magnitude & dropped) != 0).astype(np.uint64) << np.uint64(11)
    odd = (magnitude & ~dropped) | sticky
    exact = np.where(magnitude >> np.uint64(53) != 0, odd, magnitude).astype(np.float64)
    return np.asarray(np.where(negative, -exact, exact))


def _truncate(x: Array, dst: DType) -> Array:
    """Return floats as 64-bit integers within the range of `dst`; NaN gives 0."""
    whole = np.trunc(x.astype(np.float64))
    low, high = int(dst.min_value), int(dst.max_value)
    # high + 1 is a power of two, hence exact as a float where high itself may not be.
    above, below = whole >= float(high + 1), whole < float(low)
    outside = above | below | np.isnan(whole)
    carrier = np.int64 if dst.is_signed else np.uint64
    result: Array = np.where(outside, 0.0, whole).astype(carrier)
    result[above] = high
    result[below] = low
    return result


def _wrap(x: Array, dst: DType) -> Array:
    if dst.bits >= 8:
        return x.astype(to_numpy_dtype(dst))
    nibble = x.astype(np.uint8) & np.uint8(0xF)
    if dst.is_signed:
        nibble = (nibble ^ np.uint8(8)).astype(np.int8) - np.int8(8)
    return np.asarray(nibble.astype(to_numpy_dtype(dst)))


def _round(x: Array, dst: DType) -> Array:
    """Round f32 or f64 values once to float type `dst`."""
    if dst is f64 or dst is f32:
        return x.astype(to_numpy_dtype(dst))
    narrow = _to_odd_f32(x) if x.dtype == np.float64 else x
    if dst is f16 or dst is bf16:
        return narrow.astype(to_numpy_dtype(dst))
    if dst is tf32:
        return _round_tf32(narrow)
    return _round_up(narrow) if dst is f8e8m0fnu else _round_saturating(narrow, dst)


def _to_odd_f32(x: Array) -> Array:
    """Narrow f64 to f32: of the two neighbours of an inexact value, take the one with an odd
    mantissa.

    Rounding that result to at most 22 bits is then as good as rounding `x` itself (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd", 2008).
    """
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    even = (near.view(np.uint32) & np.uint32(1)) == 0
    towards = np.where(x > back, np.inf, -np.inf).astype(np.float32)
    inexact = (back != x) & ~np.isnan(x)
    return np.asarray(np.where(inexact & even, np.nextafter(near, towards), near))


def _round_tf32(x: Array) -> Array:
    bits = x.view(np.uint32)
    last = (bits >> np.uint32(13)) & np.uint32(1)
    rounded = (bits + np.uint32(0xFFF) + last) & np.uint32(0xFFFFE000)
    return np.asarray(np.where(np.isnan(x), np.float32(np.nan), rounded.view(np.float32)))


def _round_up(x: Array) -> Array:
    bits = x.view(np.uint32)
    smallest = np.uint32(0x400000)  # 2**-127, a subnormal f32
    code = np.minimum((bits + np.uint32(0x7FFFFF)) >> np.uint32(23), np.uint32(254))
    code = np.where((x > 0) & (bits > smallest), code, np.uint32(0))
    code = np.where(np.isnan(x), np.uint32(255), code)
    return np.asarray(code.astype(np.uint8).view(to_numpy_dtype(f8e8m0fnu)))


def _round_saturating(x: Array, dst: DType) -> Array:
    fmt = dst.float_format
    limit = np.float32(fmt.max_finite)
    finite = np.clip(x, -limit, limit)
    if fmt.has_inf:
        finite = np.where(np.isinf(x), x, finite)
    if not fmt.has_nan:
        finite = np.where(np.isnan(x), limit, finite)
    return finite.astype(to_numpy_dtype(dst))


def pack(x: Array, dt: DType) -> NDArray[np.uint8]:
    """Return the memory image of `x`, an array in the container of `dt`, as a flat array of bytes.

    Elements follow each other in row-major order, little-endian. 4-bit types go two to a byte, the
    even element in the low nibble; an odd count leaves the last high nibble 0.

    Raises:
        InternalError: `x` is not in the container of `dt`.
    """
    x = np.asarray(x)
    if x.dtype != to_numpy_dtype(dt):
        raise InternalError("E9001", f"array of {x.dtype} where {dt} was promised")
    flat = np.ascontiguousarray(x).reshape(-1)
    if dt.is_int and dt.bits < 8:
        flat = flat.astype(np.int8)
    image: NDArray[np.uint8] = flat.view(np.uint8)
    if dt.scalar.storage_bits >= 8:
        return np.array(image)
    nibbles = np.zeros(image.size + image.size % 2, np.uint8)
    nibbles[: image.size] = image & np.uint8(0xF)
    packed: NDArray[np.uint8] = nibbles[0::2] | (nibbles[1::2] << np.uint8(4))
    return packed


def unpack(buf: bytes | bytearray | memoryview | Array, dt: DType, shape: tuple[int, ...]) -> Array:
    """Return the values in a memory image as an array of `shape` in the container of `dt`; a copy.

    `shape` counts scalars: for a vector type its last extent covers the lanes. Bits of a slot
    beyond the type are ignored, as hardware does: the low 13 of tf32, the high ones of 6-bit and
    unpacked 4-bit types. Bytes beyond `shape` are ignored too.

    Raises:
        InternalError: the image is too short.
    """
    image = np.frombuffer(buf, np.uint8)
    count = int(np.prod(shape, dtype=np.int64))
    needed = -(-count * dt.scalar.storage_bits // 8)
    if image.size < needed:
        raise InternalError("E9001", f"{image.size} bytes hold no {count} values of {dt.scalar}")
    return _values(image[:needed].copy(), dt.scalar, count).reshape(shape)


def _values(image: NDArray[np.uint8], dt: DType, count: int) -> Array:
    if dt.storage_bits < 8:
        nibbles = np.stack([image & np.uint8(0xF), image >> np.uint8(4)], axis=1)
        image = nibbles.reshape(-1)[:count]
    if dt.is_bool:
        return np.asarray(image != 0)
    if dt.is_int and dt.bits < 8:
        return _wrap(image, dt)
    if dt is tf32:
        return np.asarray(image.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if dt.bits < 8:
        image = image & np.uint8((1 << dt.bits) - 1)
    return image.view(to_numpy_dtype(dt))
