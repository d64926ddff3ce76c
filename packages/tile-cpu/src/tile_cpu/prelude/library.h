/* Functions that are taken from the C library, one lane after the other. */
TILE_FN DTxN tile_CALL1_DTxN(DTxN x) {
  DTxN result;
  for (int32_t i = 0; i < LANES; i++) result[i] = BUILTIN(x[i]);
  return result;
}

TILE_FN DTxN tile_CALL2_DTxN(DTxN x, DTxN y) {
  DTxN result;
  for (int32_t i = 0; i < LANES; i++) result[i] = BUILTIN(x[i], y[i]);
  return result;
}

/* x y + z, rounded once whatever the compiler's contraction mode. */
TILE_FN DTxN tile_CALL3_DTxN(DTxN x, DTxN y, DTxN z) {
  DTxN result;
  for (int32_t i = 0; i < LANES; i++) result[i] = BUILTIN(x[i], y[i], z[i]);
  return result;
}
