/* x - 0 is x for every x, also for -0 (x + 0 is not), so this is a broadcast and nothing else. */
TILE_FN DTxN tile_splat_DTxN(DT_t x) { return x - (DTxN){0}; }

TILE_FN DTxN tile_iota_DTxN(void) { return (DTxN){IOTA}; }

TILE_FN DTxH tile_low_DTxN(DTxN v) { return __builtin_shufflevector(v, v, LOW); }

TILE_FN DTxH tile_high_DTxN(DTxN v) { return __builtin_shufflevector(v, v, HIGH); }

TILE_FN DTxN tile_join_DTxN(DTxH low, DTxH high) {
  return __builtin_shufflevector(low, high, IOTA);
}

/* Masks are what comparisons give: all bits set or none, in integers as wide as the elements.
 * Compilers recognise this form as their blend instruction. */
TILE_FN DTxN tile_select_DTxN(ITxN mask, DTxN a, DTxN b) {
  return (DTxN)(((ITxN)a & mask) | ((ITxN)b & ~mask));
}

TILE_FN DTxN tile_max_DTxN(DTxN a, DTxN b) { return tile_select_DTxN(a > b, a, b); }

TILE_FN DTxN tile_min_DTxN(DTxN a, DTxN b) { return tile_select_DTxN(a < b, a, b); }

/* a < b ? a : b, so b where either is NaN: the x86 instruction, which compilers do not find behind
 * tile_select. Likewise tile_greater. */
TILE_FN DTxN tile_lesser_DTxN(DTxN a, DTxN b) { return tile_select_DTxN(a < b, a, b); }

TILE_FN DTxN tile_greater_DTxN(DTxN a, DTxN b) { return tile_select_DTxN(a > b, a, b); }

TILE_FN f32x16 tile_lesser_f32x16(f32x16 a, f32x16 b) {
#if defined(__AVX512F__)
  f32x16 result;
  __asm__("vminps %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
  return result;
#else
  return tile_select_f32x16(a < b, a, b);
#endif
}

TILE_FN f32x16 tile_greater_f32x16(f32x16 a, f32x16 b) {
#if defined(__AVX512F__)
  f32x16 result;
  __asm__("vmaxps %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
  return result;
#else
  return tile_select_f32x16(a > b, a, b);
#endif
}

TILE_FN f32x8 tile_lesser_f32x8(f32x8 a, f32x8 b) {
#if defined(__AVX__)
  f32x8 result;
  __asm__("vminps %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));
  return result;
#else
  return tile_select_f32x8(a < b, a, b);
#endif
}

TILE_FN f32x8 tile_greater_f32x8(f32x8 a, f32x8 b) {
#if defined(__AVX__)
  f32x8 result;
  __asm__("vmaxps %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));
  return result;
#else
  return tile_select_f32x8(a > b, a, b);
#endif
}

/* The lesser, the greater of x and a limit; a NaN in x stays. */
TILE_FN DTxN tile_at_most_DTxN(DTxN x, DT_t limit) {
  return tile_lesser_DTxN(tile_splat_DTxN(limit), x);
}

TILE_FN DTxN tile_at_least_DTxN(DTxN x, DT_t limit) {
  return tile_greater_DTxN(tile_splat_DTxN(limit), x);
}

/* NaN if either is NaN. The first operand is on the shorter path: a running maximum belongs there.
 */
TILE_FN f32xN tile_max_f32xN(f32xN a, f32xN b) {
  return tile_select_f32xN(b != b, b, tile_greater_f32xN(b, a));
}

TILE_FN f32xN tile_min_f32xN(f32xN a, f32xN b) {
  return tile_select_f32xN(b != b, b, tile_lesser_f32xN(b, a));
}

TILE_FN f64xN tile_max_f64xN(f64xN a, f64xN b) {
  return tile_select_f64xN(b != b, b, tile_greater_f64xN(b, a));
}

TILE_FN f64xN tile_min_f64xN(f64xN a, f64xN b) {
  return tile_select_f64xN(b != b, b, tile_lesser_f64xN(b, a));
}

TILE_FN DTxN tile_abs_DTxN(DTxN v) { return tile_max_DTxN(v, -v); }

TILE_FN f32xN tile_abs_f32xN(f32xN v) { return (f32xN)((i32xN)v & 0x7fffffff); }

TILE_FN f64xN tile_abs_f64xN(f64xN v) { return (f64xN)((i64xN)v & 0x7fffffffffffffff); }

/* Magnitude of a, sign of b. */
TILE_FN f32xN tile_copysign_f32xN(f32xN a, f32xN b) {
  return (f32xN)(((i32xN)a & 0x7fffffff) | ((i32xN)b & (int32_t)0x80000000));
}

TILE_FN f64xN tile_copysign_f64xN(f64xN a, f64xN b) {
  int64_t sign = (int64_t)0x8000000000000000;
  return (f64xN)(((i64xN)a & ~sign) | ((i64xN)b & sign));
}

/* Reductions go by halves: log2(N) steps, a fixed order of additions. */
TILE_FN DT_t tile_hsum_DTx2(DTx2 v) { return v[0] + v[1]; }

TILE_FN DT_t tile_hsum_DTxN(DTxN v) {
  return tile_hsum_DTxH(tile_low_DTxN(v) + tile_high_DTxN(v));
}

TILE_FN DT_t tile_hprod_DTx2(DTx2 v) { return v[0] * v[1]; }

TILE_FN DT_t tile_hprod_DTxN(DTxN v) {
  return tile_hprod_DTxH(tile_low_DTxN(v) * tile_high_DTxN(v));
}

TILE_FN DT_t tile_hmax_DTx2(DTx2 v) {
  return tile_max_DTx2(v, __builtin_shufflevector(v, v, 1, 0))[0];
}

TILE_FN DT_t tile_hmax_DTxN(DTxN v) {
  return tile_hmax_DTxH(tile_max_DTxH(tile_low_DTxN(v), tile_high_DTxN(v)));
}

TILE_FN DT_t tile_hmin_DTx2(DTx2 v) {
  return tile_min_DTx2(v, __builtin_shufflevector(v, v, 1, 0))[0];
}

TILE_FN DT_t tile_hmin_DTxN(DTxN v) {
  return tile_hmin_DTxH(tile_min_DTxH(tile_low_DTxN(v), tile_high_DTxN(v)));
}

TILE_FN DT_t tile_hand_DTx2(DTx2 v) { return v[0] & v[1]; }

TILE_FN DT_t tile_hand_DTxN(DTxN v) {
  return tile_hand_DTxH(tile_low_DTxN(v) & tile_high_DTxN(v));
}

TILE_FN DT_t tile_hor_DTx2(DTx2 v) { return v[0] | v[1]; }

TILE_FN DT_t tile_hor_DTxN(DTxN v) {
  return tile_hor_DTxH(tile_low_DTxN(v) | tile_high_DTxN(v));
}

TILE_FN DT_t tile_hxor_DTx2(DTx2 v) { return v[0] ^ v[1]; }

TILE_FN DT_t tile_hxor_DTxN(DTxN v) {
  return tile_hxor_DTxH(tile_low_DTxN(v) ^ tile_high_DTxN(v));
}
