/* Units that multiply whole tiles (Intel AMX): registers of 16 rows of 64 bytes, a unit (see
 * units.h) being 4 bytes. Tiles 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 rows of B. Written as
 * assembly like dot.h; a tile is named by its number, a multiplication by its instruction.
 *
 * load, store: `bytes` is the distance between rows. multiply: sums += a * b. */
#define tile_amx_load(tile, from, bytes) \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"((int64_t)(bytes)) \
                   : "memory")

#define tile_amx_store(tile, to, bytes) \
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"((int64_t)(bytes)) \
                   : "memory")

#define tile_amx_zero(tile) __asm__ volatile("tilezero %%tmm" #tile : :)

#define tile_amx_multiply(instruction, sums, a, b) \
  __asm__ volatile(#instruction " %%tmm" #b ", %%tmm" #a ", %%tmm" #sums : :)

/* How many rows the tiles of sums and of A have from now on; all tiles become zero. It takes 180
 * cycles, hence once for a job, and for rows at an edge. Returns what `tile_amx_release` takes. */
TILE_FN int32_t tile_amx_rows(int32_t rows) {
  struct { uint8_t palette, start, none[14]; uint16_t bytes[16]; uint8_t rows[16]; } shape = {
      .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {[6] = 16, [7] = 16}};
  for (int i = 0; i < 6; i++) shape.rows[i] = (uint8_t)rows;
  __asm__ volatile("ldtilecfg %0" : : "m"(shape));
  return rows;
}

/* Tiles in use make every switch of threads save 8 KB more. */
TILE_FN void tile_amx_release(int32_t *rows) { __asm__ volatile("tilerelease" : :); }

/* The last units of A's rows, fewer than a tile has: zeros beside them. */
TILE_FN void tile_amx_last_rows(const int32_t *a, int64_t ld, int64_t rows, int64_t units,
                                int32_t *out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = 0; p < 16; p++) out[i * 16 + p] = p < units ? a[i * ld + p] : 0;
}

/* The last rows of a panel of B, fewer than a tile has: zeros below them. */
TILE_FN void tile_amx_last_units(const int32_t *b, int64_t units, int64_t width, int32_t *out) {
  for (int64_t p = 0; p < 16 * width; p++) out[p] = p < units * width ? b[p] : 0;
}
