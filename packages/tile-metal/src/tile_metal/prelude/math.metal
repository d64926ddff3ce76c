/* Elementary functions that the library lacks. With u = 1 + x rounded, x / (u - 1) makes up for what
 * the rounding lost (Kahan); where nothing is left of x, log(1 + x) is x. */
TILE_FN float tile_log1p_f32(float x) {
  float u = 1.0f + x, d = u - 1.0f;
  if (d == 0.0f || tile_isinf_f32(u)) return d == 0.0f ? x : u;
  return metal::precise::log(u) * (x / d);
}

/* Scaled by the larger one, so that no square overflows. */
TILE_FN float tile_hypot_f32(float x, float y) {
  float a = metal::fabs(x), b = metal::fabs(y);
  if (tile_isinf_f32(a) || tile_isinf_f32(b)) return as_type<float>(0x7f800000);
  float most = tile_max_f32(a, b), least = tile_min_f32(a, b);
  if (most == 0.0f) return most;
  float ratio = least / most;
  return most * metal::precise::sqrt(1.0f + ratio * ratio);
}

/* The neighbour of x towards y: the next code up or down. */
TILE_FN float tile_nextafter_f32(float x, float y) {
  if (tile_isnan_f32(x) || tile_isnan_f32(y)) return as_type<float>(0x7fc00000);
  int a = as_type<int>(x), b = as_type<int>(y);
  if (a == b || ((a | b) & 0x7fffffff) == 0) return y;
  if ((a & 0x7fffffff) == 0) return as_type<float>((b & (int)0x80000000) | 1);
  /* Codes of one sign are in the order of magnitudes. */
  int up = a < 0 ? (b >= 0 || b < a) : (b > a);
  return as_type<float>(a < 0 ? (up ? a - 1 : a + 1) : (up ? a + 1 : a - 1));
}

/* Below 1 a polynomial in x^2; above, 1 - e^-g where g = -log(1 - erf) is smooth. Both are minimax
 * fits. From 4 on the result is 1. */
TILE_FN float tile_erf_f32(float x) {
  float a = metal::fabs(x), z = a * a;
  float p = 0x1.496a32p-14f * z - 0x1.a3f7p-11f;
  p = p * z + 0x1.5405b2p-8f;
  p = p * z - 0x1.b7f90ep-6f;
  p = p * z + 0x1.ce2cf8p-4f;
  p = p * z - 0x1.81273ep-2f;
  p = p * z + 0x1.06eba8p-3f;
  float t = a > 4.0f ? 4.0f : a;
  float g = 0x1.67cbccp-16f * t - 0x1.cbd4d6p-12f;
  g = g * t + 0x1.12a6dap-8f;
  g = g * t - 0x1.9c6a3p-6f;
  g = g * t + 0x1.bbd95p-4f;
  g = g * t + 0x1.443c48p-1f;
  g = g * t + 0x1.212a52p0f;
  g = g * t - 0x1.7ea51ap-13f;
  return metal::copysign(a < 1.0f ? a + a * p : 1.0f - metal::precise::exp(-g), x);
}
