/* Integers: overflow wraps around, truncdiv and truncmod round towards zero, floor* down, ceildiv up.
 * The lowest value by -1 is itself. */
#define TILE_INTEGERS(T, WIDE)                                                                   \
  static inline T tile_truncdiv_##T(T a, T b) {                                                  \
    return (T)-1 < (T)0 && b == (T)-1 ? (T)(0 - (WIDE)a) : (T)(a / b);                           \
  }                                                                                              \
  static inline T tile_truncmod_##T(T a, T b) {                                                  \
    return (T)-1 < (T)0 && b == (T)-1 ? (T)0 : (T)(a % b);                                       \
  }                                                                                              \
  static inline T tile_floormod_##T(T a, T b) {                                                  \
    T rest = tile_truncmod_##T(a, b);                                                            \
    return rest != 0 && (rest < (T)0) != (b < (T)0) ? (T)(rest + b) : rest;                      \
  }                                                                                              \
  static inline T tile_floordiv_##T(T a, T b) {                                                  \
    T rest = tile_truncmod_##T(a, b);                                                            \
    return (T)(tile_truncdiv_##T(a, b) - (rest != 0 && (rest < (T)0) != (b < (T)0)));            \
  }                                                                                              \
  static inline T tile_ceildiv_##T(T a, T b) {                                                   \
    T rest = tile_truncmod_##T(a, b);                                                            \
    return (T)(tile_truncdiv_##T(a, b) + (rest != 0 && (rest < (T)0) == (b < (T)0)));            \
  }                                                                                              \
  static inline T tile_imin_##T(T a, T b) { return a < b ? a : b; }                              \
  static inline T tile_imax_##T(T a, T b) { return a > b ? a : b; }                              \
  static inline T tile_iabs_##T(T a) { return a < (T)0 ? (T)(0 - (WIDE)a) : a; }
TILE_INTEGERS(char, uint)
TILE_INTEGERS(uchar, uint)
TILE_INTEGERS(short, uint)
TILE_INTEGERS(ushort, uint)
TILE_INTEGERS(int, uint)
TILE_INTEGERS(uint, uint)
TILE_INTEGERS(long, ulong)
TILE_INTEGERS(ulong, ulong)

#define rcp(X) (1 / (X))

/* A NaN wins every maximum and minimum. */
static inline float tile_max_f32(float a, float b) { return a > b || isnan(a) ? a : b; }
static inline float tile_min_f32(float a, float b) { return a < b || isnan(a) ? a : b; }
static inline double tile_max_f64(double a, double b) { return a > b || isnan(a) ? a : b; }
static inline double tile_min_f64(double a, double b) { return a < b || isnan(a) ? a : b; }

/* Floats to integers: truncated; out of range becomes the nearest bound, NaN becomes 0. */
#define TILE_TRUNCATE(NAME, F, TO, I)                                                            \
  static inline I tile_##NAME##_to_##TO(F x) { return isnan(x) ? (I)0 : convert_##I##_sat_rtz(x); }
TILE_TRUNCATE(f32, float, i32, int)
TILE_TRUNCATE(f32, float, u32, uint)
TILE_TRUNCATE(f32, float, i64, long)
TILE_TRUNCATE(f32, float, u64, ulong)
TILE_TRUNCATE(f64, double, i32, int)
TILE_TRUNCATE(f64, double, u32, uint)
TILE_TRUNCATE(f64, double, i64, long)
TILE_TRUNCATE(f64, double, u64, ulong)

/* Memory holds codes of f16 and bf16; values are float, rounded to nearest, ties to even. */
static inline float tile_f16_to_f32(ushort code) { return vload_half(0, (const half *)&code); }
static inline ushort tile_f32_to_f16(float x) {
  ushort code;
  vstore_half_rte(x, 0, (half *)&code);
  return code;
}
static inline ushort tile_f64_to_f16(double x) {
  ushort code;
  vstore_half_rte(x, 0, (half *)&code);
  return code;
}
static inline float tile_bf16_to_f32(ushort code) { return as_float((uint)code << 16); }
static inline ushort tile_f32_to_bf16(float x) {
  uint u = as_uint(x);
  return isnan(x) ? (ushort)0x7fc0 : (ushort)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
/* Through f32 "to odd": its last bit is set if anything was lost, so that rounding once more is as if
 * the double had been rounded at once. */
static inline ushort tile_f64_to_bf16(double x) {
  float f = convert_float_rtz(x);
  return tile_f32_to_bf16((double)f == x || isnan(f) || isinf(f) ? f : as_float(as_uint(f) | 1));
}
/* An integer of 64 bits as a double "to odd". */
static inline double tile_wide_u64(ulong x) {
  double f = convert_double_rtz(x);
  return f < 0x1p64 && (ulong)f == x ? f : as_double(as_ulong(f) | 1);
}
static inline double tile_wide_i64(long x) {
  return x < 0 ? -tile_wide_u64(0 - (ulong)x) : tile_wide_u64((ulong)x);
}
