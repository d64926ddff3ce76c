/* 256 bits of 2/pi behind the binary point. */
static const uint32_t tile_two_over_pi[8] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                             0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};

/* x = q pi/2 + result, |result| <= pi/4, for |x| >= 2^20 by integer arithmetic (Payne and Hanek
 * 1983). x is m 2^e with a 24-bit m. Bits of 2/pi that contribute multiples of 4 to m 2^e 2/pi are
 * skipped; the product of m with the next 96 holds the quadrant and more than 60 bits of fraction.
 */
TILE_FN f32_t tile_big_quadrant(f32_t x, i32_t *q) {
  union { f32_t value; uint32_t bits; } u = {x};
  int32_t e = (int32_t)(u.bits >> 23 & 255) - 150;
  if (e == 105) return x - x; /* infinity and NaN */
  int32_t skip = e > 2 ? e - 2 : 0, fraction_bits = 96 - e + skip;
  const uint32_t *word = tile_two_over_pi + skip / 32;
  unsigned __int128 window = 0;
  for (int32_t i = 0; i < 4; i++) window = window << 32 | word[i];
  window = window << skip % 32 >> 32;
  unsigned __int128 product = window * ((u.bits & 0x7fffff) | 0x800000);
  int64_t fraction = (int64_t)(product << (128 - fraction_bits) >> 64);
  int32_t quadrant = (int32_t)(product >> fraction_bits) + (fraction < 0);
  f64_t r = (f64_t)fraction * (0x1.921fb54442d18p0 * 0x1p-64);
  *q = x < 0 ? -quadrant : quadrant;
  return (f32_t)(x < 0 ? -r : r);
}

/* x = q pi/2 + result for |x| < 2^20, in f64: pi/2 in two parts of 33 bits and a rest, so that the
 * products with q are exact. */
TILE_FN f32xN tile_small_quadrant_f32xN(f32xN x, i32xN *q) {
  f64xN wide = __builtin_convertvector(x, f64xN);
  f64xN n = (wide * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
  f64xN r = wide - n * 0x1.921fb544p0;
  r = (r - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  *q = __builtin_convertvector(n, i32xN);
  return __builtin_convertvector(r, f32xN);
}

TILE_FN f32xN tile_quadrant_f32xN(f32xN x, i32xN *q) {
  i32xH low, high;
  f32xH first = tile_small_quadrant_f32xH(tile_low_f32xN(x), &low);
  f32xH second = tile_small_quadrant_f32xH(tile_high_f32xN(x), &high);
  f32xN r = tile_join_f32xN(first, second);
  *q = tile_join_i32xN(low, high);
  i32xN big = ~(tile_abs_f32xN(x) < 0x1p20f);
  if (tile_hor_i32xN(big)) {
    for (int32_t i = 0; i < LANES; i++) {
      i32_t quadrant = (*q)[i];
      if (big[i]) r[i] = tile_big_quadrant(x[i], &quadrant);
      (*q)[i] = quadrant;
    }
  }
  return r;
}

/* Sine of r + q pi/2, |r| <= pi/4. */
TILE_FN f32xN tile_sin_quadrant_f32xN(f32xN r, i32xN q) {
  f32xN z = r * r;
  f32xN s = 0x1.6cd87ap-19f * z - 0x1.a00f9ep-13f; /* (sin r / r - 1) / r^2 */
  s = s * z + 0x1.111108p-7f;
  s = s * z - 0x1.555556p-3f;
  f32xN c = 0x1.9a025ap-16f * z - 0x1.6c0c8cp-10f; /* (cos r - 1 + r^2 / 2) / r^4 */
  c = c * z + 0x1.55554ap-5f;
  f32xN sine = r * z * s + r, cosine = (c * z * z - 0.5f * z) + 1.0f;
  f32xN y = tile_select_f32xN((q & 1) != 0, cosine, sine);
  return (f32xN)((i32xN)y ^ (q & 2) << 30);
}

TILE_FN f32xN tile_sin_f32xN(f32xN x) {
  i32xN q;
  f32xN r = tile_quadrant_f32xN(x, &q);
  return tile_select_f32xN(x == 0.0f, x, tile_sin_quadrant_f32xN(r, q)); /* keeps -0 */
}

TILE_FN f32xN tile_cos_f32xN(f32xN x) {
  i32xN q;
  f32xN r = tile_quadrant_f32xN(x, &q);
  return tile_sin_quadrant_f32xN(r, q + 1);
}
