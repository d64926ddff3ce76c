/* Elementary functions in f32. The polynomials are minimax fits (Remez exchange, relative error)
 * over the reduced range that stands beside each; the error of a whole function is in
 * intrinsics/math.py.
 *
 * exp: x = n ln 2 + r, |r| <= ln(2)/2. The high part of ln 2 has 15 bits, so that n times it is
 * exact. Beyond the two limits the result is 0 or infinity; comparisons let NaN through. */
TILE_FN f32xN tile_exp_f32xN(f32xN x) {
  x = tile_at_most_f32xN(x, 89.0f);
  x = tile_at_least_f32xN(x, -104.0f);
  f32xN n = tile_near_f32xN(x * 0x1.715476p0f);
  return tile_exp_reduced_f32xN((x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f, n);
}

/* 2^n e^r. */
TILE_FN f32xN tile_exp_reduced_f32xN(f32xN r, f32xN n) {
  f32xN q = 0x1.6a244cp-10f * r + 0x1.1239d4p-7f; /* (e^r - 1 - r) / r^2 */
  q = q * r + 0x1.5558f2p-5f;
  q = q * r + 0x1.555492p-3f;
  q = q * r + 0x1.fffffcp-2f;
  return tile_scale_f32xN((q * r * r + r) + 1.0f, n);
}

/* 2^x: x = n + r, |r| <= 1/2; p is (2^r - 1) / r. */
TILE_FN f32xN tile_exp2_f32xN(f32xN x) {
  x = tile_at_most_f32xN(x, 129.0f);
  x = tile_at_least_f32xN(x, -151.0f);
  f32xN n = tile_near_f32xN(x);
  f32xN r = x - n;
  f32xN p = 0x1.41fbbcp-13f * r + 0x1.5f3e52p-10f;
  p = p * r + 0x1.3b2d4cp-7f;
  p = p * r + 0x1.c6aee8p-5f;
  p = p * r + 0x1.ebfbdcp-3f;
  p = p * r + 0x1.62e43p-1f;
  return tile_scale_f32xN(p * r + 1.0f, n);
}

/* 10^x = 2^n e^r with r = x ln 10 - n ln 2. A rounded product would lose digits as x grows, so
 * ln 10 is split into 12 bits and a rest, and x likewise. */
TILE_FN f32xN tile_exp10_f32xN(f32xN x) {
  x = tile_at_most_f32xN(x, 39.0f);
  x = tile_at_least_f32xN(x, -46.0f);
  f32xN n = tile_near_f32xN(x * 0x1.a934fp1f);
  f32xN high = (f32xN)((i32xN)x & (int32_t)0xfffff000), low = x - high;
  f32xN r = (high * 0x1.26cp1f - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  r = r + (low * 0x1.26bb1cp1f - high * 0x1.39112ap-13f);
  return tile_exp_reduced_f32xN(tile_select_f32xN(x != x, x, r), n);
}

/* x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); subnormals are scaled up first. */
TILE_FN f32xN tile_log_parts_f32xN(f32xN x, f32xN *e) {
  i32xN tiny = x < 0x1p-126f;
  x = tile_select_f32xN(tiny, x * 0x1p23f, x);
  i32xN u = (i32xN)x - 0x3f3504f3;
  *e = __builtin_convertvector((u >> 23) - (tiny & 23), f32xN);
  return (f32xN)((u & 0x7fffff) + 0x3f3504f3) - 1.0f;
}

/* log(1 + f) - f over the range of tile_log_parts. */
TILE_FN f32xN tile_log_rest_f32xN(f32xN f) {
  f32xN p = 0x1.1457acp-4f * f - 0x1.de3c16p-4f;
  p = p * f + 0x1.e6f06ap-4f;
  p = p * f - 0x1.fc2206p-4f;
  p = p * f + 0x1.233768p-3f;
  p = p * f - 0x1.555c4ep-3f;
  p = p * f + 0x1.99a4b6p-3f;
  p = p * f - 0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  return p * f * f * f - 0.5f * f * f;
}

/* What a logarithm is outside of the positive finite numbers. */
TILE_FN f32xN tile_log_limits_f32xN(f32xN x, f32xN y) {
  f32xN inf = (f32xN){0} + __builtin_inff();
  y = tile_select_f32xN(x < __builtin_inff(), y, x);
  y = tile_select_f32xN(x == 0.0f, -inf, y);
  return tile_select_f32xN(x < 0.0f, inf - inf, y);
}

TILE_FN f32xN tile_log_f32xN(f32xN x) {
  f32xN e, f = tile_log_parts_f32xN(x, &e);
  f32xN y = tile_log_rest_f32xN(f) + e * 0x1.7f7d1cp-20f;
  return tile_log_limits_f32xN(x, e * 0x1.62e4p-1f + (f + y));
}

/* 1/ln 2 is 1 + 0.44..., so the larger part of the product is exact. */
TILE_FN f32xN tile_log2_f32xN(f32xN x) {
  f32xN e, f = tile_log_parts_f32xN(x, &e);
  f32xN y = tile_log_rest_f32xN(f);
  f32xN z = (f + y) * 0x1.c551dap-2f;
  return tile_log_limits_f32xN(x, ((z + y) + f) + e);
}

/* 1/ln 10 is split into 11 bits and a rest; a part of f with 12 bits times the first is exact. So
 * is e times the first part of log10(2), which has 13 bits. */
TILE_FN f32xN tile_log10_f32xN(f32xN x) {
  f32xN e, f = tile_log_parts_f32xN(x, &e);
  f32xN rest = tile_log_rest_f32xN(f);
  f32xN high = (f32xN)((i32xN)(f + rest) & (int32_t)0xfffff000), low = (f - high) + rest;
  f32xN y = low * 0x1.bcb7b2p-2f - high * 0x1.09d5b2p-15f + e * 0x1.3509f8p-18f;
  return tile_log_limits_f32xN(x, (y + high * 0x1.bccp-2f) + e * 0x1.344p-2f);
}

/* With t = e^(2|x|) - 1: tanh |x| = t / (t + 2), accurate also where t is small, because t is built
 * from (e^r - 1) and not from e^r. From 10 on the result is 1. */
TILE_FN f32xN tile_tanh_f32xN(f32xN x) {
  f32xN a = tile_abs_f32xN(x) * 2.0f;
  a = tile_at_most_f32xN(a, 20.0f);
  f32xN n = tile_near_f32xN(a * 0x1.715476p0f);
  f32xN r = (a - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  f32xN q = 0x1.a1a15p-13f * r + 0x1.6d7474p-10f; /* (e^r - 1 - r) / r^2 */
  q = q * r + 0x1.11109p-7f;
  q = q * r + 0x1.5554aep-5f;
  q = q * r + 0x1.555556p-3f;
  q = q * r + 0.5f;
  f32xN scale = (f32xN)((__builtin_convertvector(n, i32xN) + 127) << 23);
  f32xN t = scale * (q * r * r + r) + (scale - 1.0f);
  return tile_copysign_f32xN(t / (t + 2.0f), x);
}

/* Below 1 a polynomial in x^2; above, 1 - e^-g where g = -log(1 - erf) is smooth. erf(4) is 1. */
TILE_FN f32xN tile_erf_f32xN(f32xN x) {
  f32xN a = tile_abs_f32xN(x), z = a * a;
  f32xN p = 0x1.496a32p-14f * z - 0x1.a3f7p-11f;
  p = p * z + 0x1.5405b2p-8f;
  p = p * z - 0x1.b7f90ep-6f;
  p = p * z + 0x1.ce2cf8p-4f;
  p = p * z - 0x1.81273ep-2f;
  p = p * z + 0x1.06eba8p-3f;
  f32xN t = tile_at_most_f32xN(a, 4.0f);
  f32xN g = 0x1.67cbccp-16f * t - 0x1.cbd4d6p-12f;
  g = g * t + 0x1.12a6dap-8f;
  g = g * t - 0x1.9c6a3p-6f;
  g = g * t + 0x1.bbd95p-4f;
  g = g * t + 0x1.443c48p-1f;
  g = g * t + 0x1.212a52p0f;
  g = g * t - 0x1.7ea51ap-13f;
  f32xN result = tile_select_f32xN(a < 1.0f, a + a * p, 1.0f - tile_exp_f32xN(-g));
  return tile_copysign_f32xN(result, x);
}
