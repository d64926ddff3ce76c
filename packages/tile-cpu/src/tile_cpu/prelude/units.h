/* A unit is what a matrix kernel reads at once along k: one f32, f64 or i32, a pair of bf16, two
 * 16-bit words (widened bytes), four bytes (quad), four bytes with 128 added (squad: signed bytes
 * for instructions that want one operand unsigned). Units other than f32 and f64 are carried as
 * i32.
 *
 * across: N units side by side. Lane j takes element j of the next GROUP rows, `ld` elements apart;
 * rows from `rows` on count as zeros. */
TILE_FN f32xN tile_across_DT_f32xN(const DT_t *p, int64_t ld, int64_t rows) {
  return tile_DT_to_f32xN(tile_load_DTxN(p));
}

TILE_FN f64xN tile_across_DT_f64xN(const DT_t *p, int64_t ld, int64_t rows) {
  return __builtin_convertvector(tile_load_DTxN(p), f64xN);
}

TILE_FN i32xN tile_across_DT_i32xN(const DT_t *p, int64_t ld, int64_t rows) {
  return __builtin_convertvector(tile_load_DTxN(p), i32xN);
}

TILE_FN pairxN tile_across_DT_pairxN(const DT_t *p, int64_t ld, int64_t rows) {
  u32xN low = tile_bf16_bits_DT_u32xN(tile_load_DTxN(p)), high = {0};
  if (rows > 1) high = tile_bf16_bits_DT_u32xN(tile_load_DTxN(p + ld));
  return (pairxN)(low | high << 16);
}

TILE_FN wordsxN tile_across_DT_wordsxN(const DT_t *p, int64_t ld, int64_t rows) {
  i32xN low = __builtin_convertvector(tile_load_DTxN(p), i32xN), high = {0};
  if (rows > 1) high = __builtin_convertvector(tile_load_DTxN(p + ld), i32xN);
  return (low & 0xffff) | high << 16;
}

TILE_FN quadxN tile_across_DT_quadxN(const DT_t *p, int64_t ld, int64_t rows) {
  u32xN unit = {0};
  for (int64_t q = 0; q < (rows < 4 ? rows : 4); q++)
    unit |= __builtin_convertvector((u8xN)tile_load_DTxN(p + q * ld), u32xN) << (int32_t)(8 * q);
  return (quadxN)unit;
}

TILE_FN squadxN tile_across_DT_squadxN(const DT_t *p, int64_t ld, int64_t rows) {
  return tile_across_DT_quadxN(p, ld, rows) ^ (int32_t)0x80808080;
}

/* along: N units from N * GROUP elements that are contiguous along k. */
TILE_FN f32xN tile_along_DT_f32xN(const DT_t *p) { return tile_across_DT_f32xN(p, 0, 1); }

TILE_FN f64xN tile_along_DT_f64xN(const DT_t *p) { return tile_across_DT_f64xN(p, 0, 1); }

TILE_FN i32xN tile_along_DT_i32xN(const DT_t *p) { return tile_across_DT_i32xN(p, 0, 1); }

/* Pairs of any type that bf16 holds exactly. */
TILE_FN pairxN tile_along_DT_pairxN(const DT_t *p) {
  u16_t bits[2 * LANES];
  u32xN first = tile_bf16_bits_DT_u32xN(tile_load_DTxN(p));
  u32xN second = tile_bf16_bits_DT_u32xN(tile_load_DTxN(p + LANES));
  tile_store_u16xN(bits, __builtin_convertvector(first, u16xN));
  tile_store_u16xN(bits + LANES, __builtin_convertvector(second, u16xN));
  return *(const i32xN_any *)bits;
}

TILE_FN pairxN tile_along_bf16_pairxN(const bf16_t *p) { return *(const i32xN_any *)p; }

TILE_FN wordsxN tile_along_DT_wordsxN(const DT_t *p) {
  i16_t words[2 * LANES];
  tile_store_i16xN(words, __builtin_convertvector(tile_load_DTxN(p), i16xN));
  tile_store_i16xN(words + LANES, __builtin_convertvector(tile_load_DTxN(p + LANES), i16xN));
  return *(const i32xN_any *)words;
}

TILE_FN quadxN tile_along_DT_quadxN(const DT_t *p) { return *(const i32xN_any *)p; }

TILE_FN squadxN tile_along_DT_squadxN(const DT_t *p) {
  return *(const i32xN_any *)p ^ (int32_t)0x80808080;
}

/* The bf16 bits of a value, in the low half of a 32-bit lane. */
TILE_FN u32xN tile_bf16_bits_bf16_u32xN(bf16xN v) { return tile_widen_u16xN(v); }

/* Exact for the types of at most 8 bits: they have fewer mantissa bits and exponents in range. */
TILE_FN u32xN tile_bf16_bits_DT_u32xN(DTxN v) { return (u32xN)tile_DT_to_f32xN(v) >> 16; }

/* The same at an edge: `n` elements are there, zeros follow. */
TILE_FN UNITxN tile_along_first_DT_UNITxN(const DT_t *p, int64_t n) {
  DT_t room[LANES * GROUP] = {0};
  for (int64_t j = 0; j < n; j++) room[j] = p[j];
  return tile_along_DT_UNITxN(room);
}

TILE_FN UNITxN tile_across_first_DT_UNITxN(const DT_t *p, int64_t ld, int64_t rows, int64_t n) {
  DT_t room[GROUP * LANES] = {0};
  for (int64_t q = 0; q < (rows < GROUP ? rows : GROUP); q++)
    for (int64_t j = 0; j < (n < LANES ? n : LANES); j++) room[q * LANES + j] = p[q * ld + j];
  return tile_across_DT_UNITxN(room, LANES, GROUP);
}
