/* Integer operations that C++ leaves undefined or rounds otherwise. Overflow wraps around, so the
 * lowest value by -1 is itself; division by zero stays undefined. truncdiv and truncmod round
 * towards zero, floor* down, ceildiv up. */
template <class T>
TILE_FN T tile_truncdiv(T a, T b) {
  if constexpr ((T)-1 < (T)0) return b == (T)-1 ? (T)(0 - (ulong)a) : (T)(a / b);
  return (T)(a / b);
}

template <class T>
TILE_FN T tile_iabs(T a) {
  return a < 0 ? (T)(0 - (ulong)a) : a;
}

/* The value of the low four bits. */
TILE_FN char tile_wrap_i4(int x) { return (char)(((x & 15) ^ 8) - 8); }

TILE_FN uchar tile_wrap_u4(int x) { return (uchar)(x & 15); }

/* Counts of bits; zero has as many leading zeros as the type has bits. */
template <int BITS>
TILE_FN int tile_popcount(ulong x) {
  x &= ~0ul >> (64 - BITS);
  return (int)(metal::popcount((uint)x) + metal::popcount((uint)(x >> 32)));
}

template <int BITS>
TILE_FN int tile_clz(ulong x) {
  x &= ~0ul >> (64 - BITS);
  uint high = (uint)(x >> 32);
  int zeros = high != 0 ? (int)metal::clz(high) : 32 + (int)metal::clz((uint)x);
  return zeros - (64 - BITS);
}

/* Told by the bits: compilers that assume there are no NaN drop comparisons of a value with itself. */
TILE_FN bool tile_isnan_f32(float x) { return (as_type<uint>(x) & 0x7fffffff) > 0x7f800000; }

TILE_FN bool tile_isinf_f32(float x) { return (as_type<uint>(x) & 0x7fffffff) == 0x7f800000; }

TILE_FN bool tile_isfinite_f32(float x) { return (as_type<uint>(x) & 0x7fffffff) < 0x7f800000; }

/* A NaN wins every maximum and minimum. */
TILE_FN float tile_max_f32(float a, float b) {
  return a > b || tile_isnan_f32(a) ? a : b;
}

TILE_FN float tile_min_f32(float a, float b) {
  return a < b || tile_isnan_f32(a) ? a : b;
}
