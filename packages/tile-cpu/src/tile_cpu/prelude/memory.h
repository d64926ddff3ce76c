TILE_FN DTxN tile_load_DTxN(const DT_t *p) { return *(const DTxN_any *)p; }

/* gcc widens bytes that it has just loaded one by one, a vector of them in a register as a whole;
 * up to 16 are widened to one vector of 32-bit elements. */
TILE_FN BYTExN tile_load_BYTExN(const BYTE_t *p) {
  BYTExN v = *(const BYTExN_any *)p;
#if defined(__x86_64__) && !defined(__clang__)
  if (LANES >= 4 && LANES <= 16) __asm__("" : "+x"(v));
#endif
  return v;
}

TILE_FN void tile_store_DTxN(DT_t *p, DTxN v) { *(DTxN_any *)p = v; }

/* Past the caches where `past` says so and the address is that of a whole vector. */
TILE_FN void tile_stream_DTxN(DT_t *p, DTxN v, int32_t past) {
  if (past && (uint64_t)p % sizeof v == 0)
    tile_store_past_DTxN((DTxN *)p, v);
  else
    tile_store_DTxN(p, v);
}

/* Written as instructions: compilers name them differently, by the size of the vector. */
TILE_FN void tile_store_past_DTxN(DTxN *p, DTxN v) {
#if defined(__AVX__)
  __asm__("vmovntdq %1, %0" : "=m"(*p) : "v"(v));
#elif defined(__x86_64__)
  __asm__("movntdq %1, %0" : "=m"(*p) : "x"(v));
#else
  *p = v;
#endif
}

/* The first n of N elements, zeros behind them; reads nothing beyond p[n - 1]. */
TILE_FN DTxN tile_load_first_DTxN(const DT_t *p, int64_t n) {
  DT_t room[LANES] = {0};
  for (int64_t i = 0; i < (n < LANES ? n : LANES); i++) room[i] = p[i];
  return *(const DTxN_any *)room;
}

/* The first n of N elements of v; writes nothing beyond p[n - 1]. */
TILE_FN void tile_store_first_DTxN(DT_t *p, DTxN v, int64_t n) {
  DT_t room[LANES];
  tile_store_DTxN(room, v);
  for (int64_t i = 0; i < (n < LANES ? n : LANES); i++) p[i] = room[i];
}

/* Element i of the result is p[at[i]]. */
TILE_FN DTxN tile_gather_DTxN(const DT_t *p, i32xN at) {
  DT_t room[LANES];
#pragma GCC unroll LANES
  for (int i = 0; i < LANES; i++) room[i] = p[at[i]];
  return *(const DTxN_any *)room;
}

/* Element i of the result is p[i * stride]. */
TILE_FN DTxN tile_load_strided_DTxN(const DT_t *p, int64_t stride) {
  DT_t room[LANES];
  for (int64_t i = 0; i < LANES; i++) room[i] = p[i * stride];
  return *(const DTxN_any *)room;
}

TILE_FN void tile_store_strided_DTxN(DT_t *p, DTxN v, int64_t stride) {
  DT_t room[LANES];
  tile_store_DTxN(room, v);
  for (int64_t i = 0; i < LANES; i++) p[i * stride] = room[i];
}
