/* Memory holds two 4-bit values in a byte, the element of even index in the low half. `at` counts
 * elements. */
TILE_FN uint32_t tile_nibble(const uint8_t *p, int64_t at) {
  return (uint32_t)(p[at >> 1] >> ((at & 1) * 4)) & 15;
}

TILE_FN void tile_set_nibble(uint8_t *p, int64_t at, uint32_t value) {
  int shift = (int)(at & 1) * 4;
  p[at >> 1] = (uint8_t)((p[at >> 1] & (0xf0 >> shift)) | ((value & 15) << shift));
}

TILE_FN u8_t tile_load_u4(const uint8_t *p, int64_t at) { return (u8_t)tile_nibble(p, at); }

TILE_FN i8_t tile_load_i4(const uint8_t *p, int64_t at) {
  return (i8_t)((int8_t)(tile_nibble(p, at) << 4) >> 4);
}

TILE_FN f4e2m1fn_t tile_load_f4e2m1fn(const uint8_t *p, int64_t at) {
  return (f4e2m1fn_t)tile_nibble(p, at);
}

TILE_FN void tile_store_u4(uint8_t *p, int64_t at, u8_t v) { tile_set_nibble(p, at, v); }

TILE_FN void tile_store_i4(uint8_t *p, int64_t at, i8_t v) { tile_set_nibble(p, at, (uint32_t)v); }

TILE_FN void tile_store_f4e2m1fn(uint8_t *p, int64_t at, f4e2m1fn_t v) {
  tile_set_nibble(p, at, v);
}
