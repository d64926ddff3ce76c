"""Conversions between formats, of every kind of value: ties, too large, too small, not a number."""

import numpy as np
import pytest

THREADS = 256

ENCODE = """
extern "C" __global__ void k(const float *x, unsigned *out) {
  for (int i = threadIdx.x; i < COUNT; i += 256) {
    int n = i;
    out[n] = tile_f32_to_f16(x[i]), n += COUNT;
    out[n] = tile_f32_to_bf16(x[i]), n += COUNT;
    out[n] = tile_f32_to_f8e4m3fn(x[i]), n += COUNT;
    out[n] = tile_f32_to_f8e5m2(x[i]), n += COUNT;
    out[n] = tile_pack_f16(x[i], -x[i]), n += COUNT;
    out[n] = tile_pack_bf16(x[i], -x[i]), n += COUNT;
    out[n] = x[i] == x[i] ? __float_as_uint(tile_f32_to_tf32(x[i])) : 0, n += COUNT;
    out[n] = tile_f32_to_i32(x[i]), n += COUNT;
    out[n] = tile_f32_to_u32(x[i]), n += COUNT;
    out[n] = __float2int_rn(x[i]), n += COUNT;
    out[n] = (unsigned)(tile_f32_to_i64(x[i]) >> 20), n += COUNT;
    out[n] = (unsigned)(tile_f32_to_u64(x[i]) >> 20), n += COUNT;
  }
}
"""
COLUMNS = 12
DECODE = """
extern "C" __global__ void k(const CODE *codes, unsigned *out) {
  for (int i = threadIdx.x; i < COUNT; i += 256) {
    float x = FUNCTION(codes[i]);
    out[i] = x == x ? __float_as_uint(x) : 0x7fc00000;
  }
}
"""


def values(rng):
    """Any bits; those close to where half-precision formats round, overflow and underflow."""
    bits = rng.randint(0, 1 << 32, 3000, np.uint64).astype(np.uint32)
    exponents = rng.randint(127 - 26, 127 + 20, 3000).astype(np.uint32) << 23
    kept = rng.randint(0, 1 << 4, 3000).astype(np.uint32) << 19
    ties = np.array([0, 1, (1 << 12) - 1, 1 << 12, 1 << 15, 1 << 19], np.uint32)
    near = exponents | kept ^ rng.choice(ties, 3000) | bits & np.uint32(1 << 31)
    edges = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 480, 57344, 61440, 65504, 65520]
    )
    whole = np.array([2.0**31, -(2.0**31), 2.0**32, 2.0**63, 2.0**64, 0.5, 1.5, 2.5, -0.5, -1.5])
    plain = np.concatenate([edges, whole]).astype(np.float32)
    return np.concatenate([bits.view(np.float32), near.view(np.float32), plain])


def test_to_narrow_formats(agree, rng):
    x = values(rng)
    text = ENCODE.replace("COUNT", str(x.size))
    (out,) = agree(text, [x], [np.zeros((COLUMNS, x.size), np.uint32)], threads=THREADS)
    known = ~np.isnan(x)
    with np.errstate(over="ignore"):
        want = x[known].astype(np.float16).view(np.uint16)
    assert np.array_equal(out[0, known], want)


@pytest.mark.parametrize(
    ("name", "bits"), [("f16", 16), ("bf16", 16), ("f8e4m3fn", 8), ("f8e5m2", 8)]
)
def test_from_narrow_formats(agree, name, bits):
    """Every code; what is not a number is told apart from numbers only."""
    codes = np.arange(1 << bits, dtype=f"u{bits // 8}")
    text = DECODE.replace("CODE", "unsigned short" if bits == 16 else "unsigned char")
    text = text.replace("COUNT", str(codes.size)).replace("FUNCTION", f"tile_{name}_to_f32")
    (out,) = agree(text, [codes], [np.zeros(codes.size, np.uint32)], threads=THREADS)
    assert out[0] == 0
    assert np.count_nonzero(out == 0x7FC00000) == {"f16": 2046, "bf16": 254, "f8e4m3fn": 2}.get(
        name, 6
    )
