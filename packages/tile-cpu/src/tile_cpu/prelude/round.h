/* Adding and taking away 2^23 with x's own sign leaves no room for a fraction; larger numbers have
 * none. Rounds to nearest, ties to even, and keeps -0, infinities and NaN. */
TILE_FN f32xN tile_round_f32xN(f32xN x) {
  f32xN big = tile_copysign_f32xN((f32xN){0} + 0x1p23f, x);
  f32xN whole = tile_copysign_f32xN((x + big) - big, x);
  return tile_select_f32xN(tile_abs_f32xN(x) < 0x1p23f, whole, x);
}

TILE_FN f64xN tile_round_f64xN(f64xN x) {
  f64xN big = tile_copysign_f64xN((f64xN){0} + 0x1p52, x);
  f64xN whole = tile_copysign_f64xN((x + big) - big, x);
  return tile_select_f64xN(tile_abs_f64xN(x) < 0x1p52, whole, x);
}

TILE_FN DTxN tile_floor_DTxN(DTxN x) {
  DTxN near = tile_round_DTxN(x);
  DTxN down = tile_select_DTxN(near > x, near - 1, near);
  return tile_copysign_DTxN(down, x);
}

TILE_FN DTxN tile_ceil_DTxN(DTxN x) { return -tile_floor_DTxN(-x); }

TILE_FN DTxN tile_trunc_DTxN(DTxN x) {
  return tile_copysign_DTxN(tile_floor_DTxN(tile_abs_DTxN(x)), x);
}

/* n whole, |n| <= 252: v * 2^n, rounded once where the result is subnormal. Two factors, because
 * 2^n alone may not be a normal number. */
TILE_FN f32xN tile_scale_f32xN(f32xN v, f32xN n) {
  i32xN whole = __builtin_convertvector(n, i32xN), half = whole >> 1;
  f32xN first = (f32xN)((half + 127) << 23);
  f32xN second = (f32xN)((whole - half + 127) << 23);
  return v * first * second;
}

TILE_FN f32x16 tile_scale_f32x16(f32x16 v, f32x16 n) {
#if defined(__AVX512F__)
  f32x16 result;
  __asm__("vscalefps %2, %1, %0" : "=v"(result) : "v"(v), "v"(n));
  return result;
#else
  return tile_join_f32x16(tile_scale_f32x8(tile_low_f32x16(v), tile_low_f32x16(n)),
                          tile_scale_f32x8(tile_high_f32x16(v), tile_high_f32x16(n)));
#endif
}

/* For |x| < 2^22 only: the cheapest rounding to a whole number. */
TILE_FN f32xN tile_near_f32xN(f32xN x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

/* Square roots are correctly rounded by every CPU's instruction. */
TILE_FN f32x16 tile_sqrt_f32x16(f32x16 v) {
#if defined(__AVX512F__)
  f32x16 result;
  __asm__("vsqrtps %1, %0" : "=v"(result) : "v"(v));
  return result;
#else
  return tile_join_f32x16(tile_sqrt_f32x8(tile_low_f32x16(v)),
                          tile_sqrt_f32x8(tile_high_f32x16(v)));
#endif
}

TILE_FN f32x8 tile_sqrt_f32x8(f32x8 v) {
#if defined(__AVX__)
  f32x8 result;
  __asm__("vsqrtps %1, %0" : "=x"(result) : "x"(v));
  return result;
#else
  return tile_join_f32x8(tile_sqrt_f32x4(tile_low_f32x8(v)), tile_sqrt_f32x4(tile_high_f32x8(v)));
#endif
}

TILE_FN f32x4 tile_sqrt_f32x4(f32x4 v) {
  return (f32x4){__builtin_sqrtf(v[0]), __builtin_sqrtf(v[1]), __builtin_sqrtf(v[2]),
                 __builtin_sqrtf(v[3])};
}

TILE_FN f64x8 tile_sqrt_f64x8(f64x8 v) {
#if defined(__AVX512F__)
  f64x8 result;
  __asm__("vsqrtpd %1, %0" : "=v"(result) : "v"(v));
  return result;
#else
  return tile_join_f64x8(tile_sqrt_f64x4(tile_low_f64x8(v)), tile_sqrt_f64x4(tile_high_f64x8(v)));
#endif
}

TILE_FN f64x4 tile_sqrt_f64x4(f64x4 v) {
#if defined(__AVX__)
  f64x4 result;
  __asm__("vsqrtpd %1, %0" : "=x"(result) : "x"(v));
  return result;
#else
  return tile_join_f64x4(tile_sqrt_f64x2(tile_low_f64x4(v)), tile_sqrt_f64x2(tile_high_f64x4(v)));
#endif
}

TILE_FN f64x2 tile_sqrt_f64x2(f64x2 v) {
  return (f64x2){__builtin_sqrt(v[0]), __builtin_sqrt(v[1])};
}

TILE_FN DTxN tile_rsqrt_DTxN(DTxN v) { return 1 / tile_sqrt_DTxN(v); }

TILE_FN DTxN tile_rcp_DTxN(DTxN v) { return 1 / v; }
