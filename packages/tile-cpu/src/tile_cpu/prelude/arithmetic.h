/* Integer operations that C leaves undefined or rounds otherwise. Overflow wraps around, so the
 * lowest value by -1 is itself; division by zero stays undefined. truncdiv and truncmod round
 * towards zero, floor* down, ceildiv up. */
TILE_FN DT_t tile_truncdiv_DT(DT_t a, DT_t b) {
  return (DT_t)-1 < 0 && b == (DT_t)-1 ? (DT_t)(0 - (UT_t)a) : (DT_t)(a / b);
}

TILE_FN DT_t tile_truncmod_DT(DT_t a, DT_t b) {
  return (DT_t)-1 < 0 && b == (DT_t)-1 ? (DT_t)0 : (DT_t)(a % b);
}

TILE_FN DT_t tile_floormod_DT(DT_t a, DT_t b) {
  DT_t rest = tile_truncmod_DT(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? (DT_t)(rest + b) : rest;
}

TILE_FN DT_t tile_floordiv_DT(DT_t a, DT_t b) {
  DT_t rest = tile_truncmod_DT(a, b);
  return (DT_t)(tile_truncdiv_DT(a, b) - (rest != 0 && (rest < 0) != (b < 0)));
}

TILE_FN DT_t tile_ceildiv_DT(DT_t a, DT_t b) {
  DT_t rest = tile_truncmod_DT(a, b);
  return (DT_t)(tile_truncdiv_DT(a, b) + (rest != 0 && (rest < 0) == (b < 0)));
}

TILE_FN DT_t tile_shl_DT(DT_t a, DT_t n) { return (DT_t)((UT_t)a << n); }

TILE_FN DT_t tile_shr_DT(DT_t a, DT_t n) { return (DT_t)(a >> n); }

TILE_FN DT_t tile_imin_DT(DT_t a, DT_t b) { return a < b ? a : b; }

TILE_FN DT_t tile_imax_DT(DT_t a, DT_t b) { return a > b ? a : b; }

TILE_FN DT_t tile_iabs_DT(DT_t a) { return a < 0 ? (DT_t)(0 - (UT_t)a) : a; }

/* CPUs have no vector division of integers. */
TILE_FN DTxN tile_truncdiv_DTxN(DTxN a, DTxN b) {
  for (int32_t i = 0; i < LANES; i++) a[i] = tile_truncdiv_DT(a[i], b[i]);
  return a;
}

TILE_FN DTxN tile_truncmod_DTxN(DTxN a, DTxN b) {
  for (int32_t i = 0; i < LANES; i++) a[i] = tile_truncmod_DT(a[i], b[i]);
  return a;
}

TILE_FN DTxN tile_floordiv_DTxN(DTxN a, DTxN b) {
  for (int32_t i = 0; i < LANES; i++) a[i] = tile_floordiv_DT(a[i], b[i]);
  return a;
}

TILE_FN DTxN tile_floormod_DTxN(DTxN a, DTxN b) {
  for (int32_t i = 0; i < LANES; i++) a[i] = tile_floormod_DT(a[i], b[i]);
  return a;
}

TILE_FN DTxN tile_ceildiv_DTxN(DTxN a, DTxN b) {
  for (int32_t i = 0; i < LANES; i++) a[i] = tile_ceildiv_DT(a[i], b[i]);
  return a;
}

TILE_FN DTxN tile_shl_DTxN(DTxN a, DTxN n) { return (DTxN)((UTxN)a << (UTxN)n); }

TILE_FN DTxN tile_shr_DTxN(DTxN a, DTxN n) { return a >> n; }

/* The value of the low four bits. */
TILE_FN i8_t tile_wrap_i4(int32_t x) { return (i8_t)(((x & 15) ^ 8) - 8); }

TILE_FN u8_t tile_wrap_u4(int32_t x) { return (u8_t)(x & 15); }

TILE_FN i8xN tile_wrap_i4xN(i8xN x) { return ((x & 15) ^ 8) - 8; }

TILE_FN u8xN tile_wrap_u4xN(u8xN x) { return x & 15; }

/* Counts of bits are i32 whatever the argument; zero has as many leading zeros as it has bits. */
TILE_FN int32_t tile_popcount_DT(DT_t x) { return __builtin_popcountll((UT_t)x); }

TILE_FN int32_t tile_clz_DT(DT_t x) {
  UT_t bits = (UT_t)x;
  return bits == 0 ? (int32_t)(8 * sizeof x)
                   : __builtin_clzll(bits) - (int32_t)(64 - 8 * sizeof x);
}

TILE_FN i32xN tile_popcount_DTxN(DTxN x) {
  i32xN count;
  for (int32_t i = 0; i < LANES; i++) count[i] = tile_popcount_DT(x[i]);
  return count;
}

TILE_FN i32xN tile_clz_DTxN(DTxN x) {
  i32xN count;
  for (int32_t i = 0; i < LANES; i++) count[i] = tile_clz_DT(x[i]);
  return count;
}
