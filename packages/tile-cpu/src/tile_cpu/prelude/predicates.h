/* Masks: all bits of a lane are set where it holds. */
TILE_FN ITxN tile_isnan_DTxN(DTxN x) { return x != x; }

TILE_FN i32xN tile_isinf_f32xN(f32xN x) { return tile_abs_f32xN(x) == __builtin_inff(); }

TILE_FN i64xN tile_isinf_f64xN(f64xN x) { return tile_abs_f64xN(x) == __builtin_inf(); }

TILE_FN i32xN tile_isfinite_f32xN(f32xN x) { return tile_abs_f32xN(x) < __builtin_inff(); }

TILE_FN i64xN tile_isfinite_f64xN(f64xN x) { return tile_abs_f64xN(x) < __builtin_inf(); }

/* Maximum and minimum where a NaN loses against a number. */
TILE_FN DTxN tile_max_num_DTxN(DTxN a, DTxN b) {
  return tile_select_DTxN((a > b) | (b != b), a, b);
}

TILE_FN DTxN tile_min_num_DTxN(DTxN a, DTxN b) {
  return tile_select_DTxN((a < b) | (b != b), a, b);
}
