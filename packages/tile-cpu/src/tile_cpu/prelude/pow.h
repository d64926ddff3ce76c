/* log2 of a positive finite f32 in f64, to 2^-45: x = 2^e m, sqrt(1/2) <= m < sqrt(2), and log2(m)
 * = s p(s^2) with s = (m - 1) / (m + 1). The exponent becomes a number as the low bits of 2^52. */
TILE_FN f64xN tile_log2_wide_f64xN(f64xN x) {
  i64xN u = (i64xN)x + 0x3ff0000000000000 - 0x3fe6a09e667f3bcd;
  f64xN e = (f64xN)((i64xN)((u64xN)u >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
  f64xN m = (f64xN)((u & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
  f64xN s = (m - 1.0) / (m + 1.0), z = s * s;
  f64xN p = 0x1.21b0597f31c11p-2 * z + 0x1.47955fcea0a33p-2;
  p = p * z + 0x1.a61a2e918d93fp-2;
  p = p * z + 0x1.2776c29380adcp-1;
  p = p * z + 0x1.ec709dc53c31dp-1;
  p = p * z + 0x1.71547652b8251p1;
  return e + s * p;
}

/* 2^t for -200 <= t <= 200, to 2^-39. */
TILE_FN f64xN tile_exp2_wide_f64xN(f64xN t) {
  f64xN shifted = t + 0x1.8p52, n = shifted - 0x1.8p52, r = t - n;
  f64xN p = 0x1.63ef985f2da27p-20 * r + 0x1.00f7b399166e5p-16;
  p = p * r + 0x1.430891efff85ap-13;
  p = p * r + 0x1.5d8715af68777p-10;
  p = p * r + 0x1.3b2ab72566206p-7;
  p = p * r + 0x1.c6b08e06f42b5p-5;
  p = p * r + 0x1.ebfbdff81d29ap-3;
  p = p * r + 0x1.62e42fef6cd41p-1;
  return (p * r + 1.0) * (f64xN)(((i64xN)shifted + 1023) << 52);
}

/* |x|^y, NaN where the product y log2 |x| has no value. */
TILE_FN f32xN tile_pow_size_f32xN(f32xN x, f32xN y) {
  f64xN a = __builtin_convertvector(tile_abs_f32xN(x), f64xN), inf = (f64xN){0} + __builtin_inf();
  f64xN log = tile_select_f64xN(a < __builtin_inf(), tile_log2_wide_f64xN(a), a);
  log = tile_select_f64xN(a == 0.0, -inf, log);
  f64xN t = __builtin_convertvector(y, f64xN) * log;
  t = tile_select_f64xN(t > 200.0, (f64xN){0} + 200.0, t);
  t = tile_select_f64xN(t < -200.0, (f64xN){0} - 200.0, t);
  return __builtin_convertvector(tile_exp2_wide_f64xN(t), f32xN);
}

/* x^y with the limits of IEEE 754-2019 section 9.2.1: 1 where y is 0 or x is 1; a negative x has
 * whole powers only, and a negative result where the power is odd. */
TILE_FN f32xN tile_pow_f32xN(f32xN x, f32xN y) {
  f32xN size = tile_join_f32xN(tile_pow_size_f32xH(tile_low_f32xN(x), tile_low_f32xN(y)),
                               tile_pow_size_f32xH(tile_high_f32xN(x), tile_high_f32xN(y)));
  f32xN half = y * 0.5f, inf = (f32xN){0} + __builtin_inff();
  i32xN negative = (i32xN)x >> 31, whole = tile_round_f32xN(y) == y;
  i32xN odd = whole & (tile_round_f32xN(half) != half) & (tile_abs_f32xN(y) < 0x1p24f);
  size = tile_select_f32xN((x < 0.0f) & (x > -inf) & ~whole, inf - inf, size);
  size = (f32xN)((i32xN)size ^ (negative & odd & (int32_t)0x80000000));
  i32xN one = (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (tile_abs_f32xN(y) == inf));
  return tile_select_f32xN(one, (f32xN){0} + 1.0f, size);
}
