/* 16-bit integers as 32-bit ones: one instruction. gcc 12 widens the halves of a vector, each by
 * itself, and joins them: four, and two loads where the vector comes from memory. */
TILE_FN u32xN tile_widen_u16xN(u16xN v) { return __builtin_convertvector(v, u32xN); }

TILE_FN i32xN tile_widen_i16xN(i16xN v) { return __builtin_convertvector(v, i32xN); }

TILE_FN u32x16 tile_widen_u16x16(u16x16 v) {
#if defined(__AVX512F__) && !defined(__clang__)
  u32x16 wide;
  __asm__("vpmovzxwd %1, %0" : "=v"(wide) : "vm"(v));
  return wide;
#else
  return __builtin_convertvector(v, u32x16);
#endif
}

TILE_FN i32x16 tile_widen_i16x16(i16x16 v) {
#if defined(__AVX512F__) && !defined(__clang__)
  i32x16 wide;
  __asm__("vpmovsxwd %1, %0" : "=v"(wide) : "vm"(v));
  return wide;
#else
  return __builtin_convertvector(v, i32x16);
#endif
}

TILE_FN u32x8 tile_widen_u16x8(u16x8 v) {
#if defined(__AVX2__) && !defined(__clang__)
  u32x8 wide;
  __asm__("vpmovzxwd %1, %0" : "=x"(wide) : "xm"(v));
  return wide;
#else
  return __builtin_convertvector(v, u32x8);
#endif
}

TILE_FN i32x8 tile_widen_i16x8(i16x8 v) {
#if defined(__AVX2__) && !defined(__clang__)
  i32x8 wide;
  __asm__("vpmovsxwd %1, %0" : "=x"(wide) : "xm"(v));
  return wide;
#else
  return __builtin_convertvector(v, i32x8);
#endif
}

/* Integers to floats: rounded once by the conversion itself. */
TILE_FN f32xN tile_INT_to_f32xN(INTxN v) { return __builtin_convertvector(v, f32xN); }

TILE_FN f64xN tile_INT_to_f64xN(INTxN v) { return __builtin_convertvector(v, f64xN); }

TILE_FN FTxN tile_INT_to_FTxN(INTxN v) {
  return tile_f64_to_FTxN(__builtin_convertvector(v, f64xN));
}

/* Beyond 2^53 bits are lost in f64 already; one that stands for them keeps ties apart. */
TILE_FN FTxN tile_i64_to_FTxN(i64xN v) {
  i64xN far = (v > 0x20000000000000) | (v < -0x20000000000000);
  i64xN kept = (v & ~0x7ffll) | (((v & 0x7ff) != 0) & 0x800);
  return tile_f64_to_FTxN(__builtin_convertvector(tile_select_i64xN(far, kept, v), f64xN));
}

TILE_FN FTxN tile_u64_to_FTxN(u64xN v) {
  i64xN far = v > 0x20000000000000;
  u64xN kept = (v & ~0x7ffull) | ((u64xN)((v & 0x7ff) != 0) & 0x800);
  return tile_f64_to_FTxN(__builtin_convertvector(tile_select_u64xN(far, kept, v), f64xN));
}

/* Floats to integers: truncated; out of range becomes the nearest bound, NaN becomes 0. Types of at
 * most 16 bits are limited before the conversion, where both bounds are exact. */
TILE_FN SMALLxN tile_f32_to_SMALLxN(f32xN v) {
  v = tile_at_most_f32xN(tile_at_least_f32xN(v, LOWEST), HIGHEST);
  v = tile_select_f32xN(v == v, v, (f32xN){0});
  return __builtin_convertvector(__builtin_convertvector(v, i32xN), SMALLxN);
}

TILE_FN SMALLxN tile_f64_to_SMALLxN(f64xN v) {
  v = tile_at_most_f64xN(tile_at_least_f64xN(v, LOWEST), HIGHEST);
  v = tile_select_f64xN(v == v, v, (f64xN){0});
  return __builtin_convertvector(__builtin_convertvector(v, i32xN), SMALLxN);
}

/* The largest f32 below 2^31 is not the largest i32. */
TILE_FN i32xN tile_f32_to_i32xN(f32xN v) {
  f32xN t = tile_at_most_f32xN(tile_at_least_f32xN(v, -0x1p31f), 0x1.fffffep30f);
  t = tile_select_f32xN(v == v, t, (f32xN){0});
  i32xN whole = __builtin_convertvector(t, i32xN);
  return tile_select_i32xN(v >= 0x1p31f, (i32xN){0} + 0x7fffffff, whole);
}

/* The upper half of the range is brought into that of i32 and back. */
TILE_FN u32xN tile_f32_to_u32xN(f32xN v) {
  f32xN t = tile_at_most_f32xN(tile_at_least_f32xN(v, 0.0f), 0x1.fffffep31f);
  t = tile_select_f32xN(v == v, t, (f32xN){0});
  i32xN upper = t >= 0x1p31f;
  f32xN lowered = t - (f32xN)(upper & 0x4f000000);
  u32xN whole = (u32xN)__builtin_convertvector(lowered, i32xN) + ((u32xN)upper & 0x80000000);
  return whole | (u32xN)(v >= 0x1p32f);
}

TILE_FN i32xN tile_f64_to_i32xN(f64xN v) {
  v = tile_at_most_f64xN(tile_at_least_f64xN(v, -0x1p31), 0x1p31 - 1);
  return __builtin_convertvector(tile_select_f64xN(v == v, v, (f64xN){0}), i32xN);
}

TILE_FN u32xN tile_f64_to_u32xN(f64xN v) {
  v = tile_at_most_f64xN(tile_at_least_f64xN(v, 0.0), 0x1p32 - 1);
  v = tile_round_f64xN(tile_trunc_f64xN(tile_select_f64xN(v == v, v, (f64xN){0})));
  return (u32xN)__builtin_convertvector(v - 0x1p31, i32xN) ^ 0x80000000;
}

/* Few CPUs convert vectors to 64-bit integers: one lane after the other. By way of memory, because
 * gcc 12 fails ("in store_constructor") where it would build the vector from converted parts. */
TILE_FN i64xN tile_DT_to_i64xN(DTxN v) {
  i64_t result[LANES];
  for (int32_t i = 0; i < LANES; i++) {
    DT_t x = v[i];
    int64_t bound = x > 0 ? 0x7fffffffffffffff : x < 0 ? -0x7fffffffffffffff - 1 : 0;
    result[i] = x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : bound;
  }
  return tile_load_i64xN(result);
}

TILE_FN u64xN tile_DT_to_u64xN(DTxN v) {
  u64_t result[LANES];
  for (int32_t i = 0; i < LANES; i++) {
    DT_t x = v[i];
    result[i] = x >= 0x1p64f ? 0xffffffffffffffff : x > 0 ? (uint64_t)x : 0;
  }
  return tile_load_u64xN(result);
}

TILE_FN boolxN tile_f32_to_boolxN(f32xN v) { return __builtin_convertvector((v != 0) & 1, boolxN); }

TILE_FN boolxN tile_f64_to_boolxN(f64xN v) { return __builtin_convertvector((v != 0) & 1, boolxN); }

/* Two 4-bit codes in a byte, the even element in the low half. */
TILE_FN u8xN tile_unpack4_u8xN(u8xH bytes) {
  u8xH low = bytes & 15, high = bytes >> 4;
  return __builtin_shufflevector(low, high, ALTERNATE);
}

TILE_FN u8xH tile_pack4_u8xN(u8xN codes) {
  u8xH even = __builtin_shufflevector(codes, codes, EVEN);
  u8xH odd = __builtin_shufflevector(codes, codes, ODD);
  return (even & 15) | odd << 4;
}
