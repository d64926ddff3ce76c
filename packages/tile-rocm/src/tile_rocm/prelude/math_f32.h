/* Elementary functions in f32 that the compiler does not expand. Those that are rare in kernels are
 * the f64 ones, rounded. */
TILE_FN float tile_log1p_f32(float x) { return (float)tile_log1p_f64(x); }

TILE_FN float tile_tan_f32(float x) { return (float)tile_tan_f64(x); }

TILE_FN float tile_asin_f32(float x) { return (float)tile_asin_f64(x); }

TILE_FN float tile_acos_f32(float x) { return (float)tile_acos_f64(x); }

TILE_FN float tile_atan_f32(float x) { return (float)tile_atan_f64(x); }

TILE_FN float tile_atan2_f32(float y, float x) { return (float)tile_atan2_f64(y, x); }

TILE_FN float tile_sinh_f32(float x) { return (float)tile_sinh_f64(x); }

TILE_FN float tile_cosh_f32(float x) { return (float)tile_cosh_f64(x); }

TILE_FN float tile_asinh_f32(float x) { return (float)tile_asinh_f64(x); }

TILE_FN float tile_acosh_f32(float x) { return (float)tile_acosh_f64(x); }

TILE_FN float tile_atanh_f32(float x) { return (float)tile_atanh_f64(x); }

TILE_FN float tile_hypot_f32(float x, float y) {
  double a = x, b = y;
  bool far = __builtin_isinf(x) || __builtin_isinf(y);
  return far ? __builtin_inff() : (float)__builtin_sqrt(a * a + b * b);
}

TILE_FN float tile_fmod_f32(float x, float y) { return tile_fmod(x, y); }

TILE_FN float tile_nextafter_f32(float x, float y) { return tile_nextafter<int>(x, y); }

TILE_FN float tile_rsqrt_f32(float x) { return 1.0f / __builtin_sqrtf(x); }

TILE_FN float tile_pow_f32(float x, float y) {
  double size = tile_exp2_f64((double)y * tile_log2_f64(__builtin_fabs((double)x)));
  return tile_pow_limits(x, y, (float)size);
}

/* x = q pi/2 + result, |result| <= pi/4. Products with the first part of pi/2 are exact, and so is
 * the first difference; what follows is small. */
TILE_FN float tile_quadrant_f32(float x, int *q) {
  if (!(__builtin_fabsf(x) < 0x1p17f)) return (float)tile_quadrant_f64(x, q);
  float n = __builtin_rintf(x * 0x1.45f306p-1f);
  *q = (int)n;
  float r = __builtin_fmaf(-n, 0x1.921fb6p0f, x);
  r = __builtin_fmaf(n, 0x1.777a5cp-25f, r);
  return __builtin_fmaf(n, 0x1.ee59dap-50f, r);
}

/* Sine of r + q pi/2; minimax fits over |r| <= pi/4. */
TILE_FN float tile_sin_quadrant_f32(float r, int q) {
  float z = r * r;
  float s = 0x1.6cd87ap-19f * z - 0x1.a00f9ep-13f; /* (sin r / r - 1) / r^2 */
  s = s * z + 0x1.111108p-7f;
  s = s * z - 0x1.555556p-3f;
  float c = 0x1.9a025ap-16f * z - 0x1.6c0c8cp-10f; /* (cos r - 1 + r^2 / 2) / r^4 */
  c = c * z + 0x1.55554ap-5f;
  float y = q & 1 ? (c * z * z - 0.5f * z) + 1.0f : r * z * s + r;
  return q & 2 ? -y : y;
}

TILE_FN float tile_sin_f32(float x) {
  int q;
  float r = tile_quadrant_f32(x, &q);
  return x == 0.0f ? x : tile_sin_quadrant_f32(r, q);
}

TILE_FN float tile_cos_f32(float x) {
  int q;
  float r = tile_quadrant_f32(x, &q);
  return tile_sin_quadrant_f32(r, q + 1);
}

/* With t = e^(2|x|) - 1: tanh |x| = t / (t + 2), accurate also where t is small, because t is built
 * from (e^r - 1) and not from e^r; the polynomial is a minimax fit. From 10 on the result is 1. */
TILE_FN float tile_tanh_f32(float x) {
  float a = __builtin_fabsf(x) * 2.0f;
  a = a > 20.0f ? 20.0f : a;
  float n = __builtin_rintf(a * 0x1.715476p0f);
  float r = (a - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  float q = 0x1.a1a15p-13f * r + 0x1.6d7474p-10f; /* (e^r - 1 - r) / r^2 */
  q = q * r + 0x1.11109p-7f;
  q = q * r + 0x1.5554aep-5f;
  q = q * r + 0x1.555556p-3f;
  q = q * r + 0.5f;
  float scale = tile_bits_to<float>(((int)n + 127) << 23);
  float t = scale * (q * r * r + r) + (scale - 1.0f);
  return x != x ? x : __builtin_copysignf(t / (t + 2.0f), x);
}

/* Below 1 a polynomial in x^2; above, 1 - e^-g where g = -log(1 - erf) is smooth. Both are minimax
 * fits. From 4 on the result is 1. */
TILE_FN float tile_erf_f32(float x) {
  float a = __builtin_fabsf(x), z = a * a;
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
  return __builtin_copysignf(a < 1.0f ? a + a * p : 1.0f - __builtin_expf(-g), x);
}
