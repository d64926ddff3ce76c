/* Elementary functions in f64. Polynomials are Taylor series over the reduced range that stands
 * beside each, so that their coefficients can be read, unless the comment says otherwise.
 *
 * 2^n e^r for |r| <= ln(2)/2. */
TILE_FN double tile_exp_reduced_f64(double r, double n) {
  return __builtin_ldexp(1.0 + (r + r * r * tile_exp_rest_f64(r)), (int)n);
}

/* (e^r - 1 - r) / r^2. */
TILE_FN double tile_exp_rest_f64(double r) {
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  return p * r + 0.5;
}

/* x = n ln 2 + result. The first part of ln 2 has 33 bits, so that n times it is exact. */
TILE_FN double tile_exp_argument_f64(double x, double *n) {
  *n = __builtin_rint(x * 0x1.71547652b82fep0);
  return (x - *n * 0x1.62e42fefp-1) - *n * 0x1.473de6af278edp-34;
}

/* Beyond the limits the result is 0 or infinity; comparisons let NaN through. */
TILE_FN double tile_exp_f64(double x) {
  double n, y = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
  double r = tile_exp_argument_f64(y, &n);
  return tile_exp_reduced_f64(r, n);
}

TILE_FN double tile_exp2_f64(double x) {
  double y = x > 1025.0 ? 1025.0 : x < -1076.0 ? -1076.0 : x, n = __builtin_rint(y);
  return tile_exp_reduced_f64((y - n) * 0x1.62e42fefa39efp-1, n);
}

/* 10^x = 2^n e^(ln 10 (x - n log10 2)). */
TILE_FN double tile_exp10_f64(double x) {
  double y = x > 309.0 ? 309.0 : x < -325.0 ? -325.0 : x;
  double n = __builtin_rint(y * 0x1.a934f0979a371p1);
  double r = (y - n * 0x1.34413509p-2) - n * 0x1.ef3fde623e256p-35;
  return tile_exp_reduced_f64(r * 0x1.26bb1bbb55516p1, n);
}

/* e^x - 1 for 0 <= x <= 50, accurate where x is small. */
TILE_FN double tile_expm1_f64(double x) {
  double n, r = tile_exp_argument_f64(x, &n), scale = __builtin_ldexp(1.0, (int)n);
  return scale * (r * r * tile_exp_rest_f64(r) + r) + (scale - 1.0);
}

/* x = 2^e (1 + result), sqrt(1/2) <= 1 + result < sqrt(2); subnormals are scaled up first. */
TILE_FN double tile_log_parts_f64(double x, double *e) {
  bool tiny = x < 0x1p-1022;
  long long bits = tile_bits_to<long long>(tiny ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcd;
  *e = (double)((bits >> 52) - (tiny ? 54 : 0));
  return tile_bits_to<double>((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
}

/* log(1 + f) - f + f^2/2 = s (f^2/2 + R), s = f / (2 + f), where 2 s + s R = 2 artanh(s). */
TILE_FN double tile_log_rest_f64(double f) {
  double s = f / (2.0 + f), z = s * s, p = 2.0 / 25;
  p = p * z + 2.0 / 23;
  p = p * z + 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  return s * (0.5 * f * f + p * z);
}

/* What a logarithm is outside of the positive finite numbers. */
TILE_FN double tile_log_limits_f64(double x, double y) {
  y = x < __builtin_inf() ? y : x;
  y = x == 0.0 ? -__builtin_inf() : y;
  return x < 0.0 ? __builtin_nan("") : y;
}

TILE_FN double tile_log_f64(double x) {
  double e, f = tile_log_parts_f64(x, &e), half = 0.5 * f * f;
  double y = tile_log_rest_f64(f) + e * 0x1.473de6af278edp-34;
  return tile_log_limits_f64(x, e * 0x1.62e42fefp-1 - ((half - y) - f));
}

/* log(1 + f) as a number of 21 bits, whose product with 32 bits is exact, and a rest. */
TILE_FN double tile_log_high_f64(double f, double *rest) {
  double half = 0.5 * f * f;
  double high = tile_bits_to<double>(tile_bits_to<long long>(f - half) & ~0xffffffffll);
  *rest = ((f - high) - half) + tile_log_rest_f64(f);
  return high;
}

TILE_FN double tile_log2_f64(double x) {
  double e, rest, high = tile_log_high_f64(tile_log_parts_f64(x, &e), &rest);
  double y = high * 0x1.71547652p0, sum = e + y;
  double low = (rest + high) * 0x1.705fc2eefa2p-33 + rest * 0x1.71547652p0;
  return tile_log_limits_f64(x, (low + ((e - sum) + y)) + sum);
}

TILE_FN double tile_log10_f64(double x) {
  double e, rest, high = tile_log_high_f64(tile_log_parts_f64(x, &e), &rest);
  double y = high * 0x1.bcb7b152p-2, whole = e * 0x1.34413509p-2, sum = whole + y;
  double low = e * 0x1.ef3fde623e256p-35 + (rest + high) * 0x1.b9438ca9aadd5p-36;
  low = low + rest * 0x1.bcb7b152p-2;
  return tile_log_limits_f64(x, (low + ((whole - sum) + y)) + sum);
}

/* What 1 + x loses is put back by the derivative of the logarithm. */
TILE_FN double tile_log1p_f64(double x) {
  double u = 1.0 + x, y = tile_log_f64(u);
  double lost = u >= 2.0 ? 1.0 - (u - x) : x - (u - 1.0);
  if (x == 0.0) return x;
  return u > 0.0 && u < __builtin_inf() ? y + lost / u : y;
}

TILE_FN double tile_rsqrt_f64(double x) { return 1.0 / __builtin_sqrt(x); }

/* log2 x of a positive finite x as the sum of two numbers, to 2^-63: artanh as above with what each
 * product and quotient loses. */
TILE_FN double tile_log2_pair_f64(double x, double *low) {
  double e, f = tile_log_parts_f64(x, &e), d = 2.0 + f, s = f / d;
  double s_low = (__builtin_fma(-s, d, f) - s * (f - (d - 2.0))) / d;
  double z = s * s, z_low = __builtin_fma(s, s, -z) + 2.0 * s * s_low, p = 1.0 / 25;
  p = p * z + 1.0 / 23;
  p = p * z + 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  double c = z * 0x1.5555555555555p-2, third_low = 0x1.5555555555555p-56;
  double c_low = __builtin_fma(z, 0x1.5555555555555p-2, -c) + z * third_low + z_low / 3.0 + z * z * p;
  double u = 1.0 + c, u_low = (1.0 - u) + c + c_low;
  double v = 2.0 * s * u;
  double v_low = __builtin_fma(2.0 * s, u, -v) + 2.0 * s * u_low + 2.0 * s_low * u;
  double y = v * 0x1.71547652b82fep0;
  double y_low = __builtin_fma(v, 0x1.71547652b82fep0, -y) + v * 0x1.777d0ffda0d24p-56;
  y_low = y_low + v_low * 0x1.71547652b82fep0;
  double sum = e + y;
  *low = (e - sum) + y + y_low;
  return sum;
}

/* |x|^y for finite x other than 0; the limits are the caller's. */
TILE_FN double tile_pow_size_f64(double x, double y) {
  double low, high = tile_log2_pair_f64(x, &low), t = y * high;
  double t_low = __builtin_fma(y, high, -t) + y * low;
  if (!(t < 1025.0)) return t != t ? t : __builtin_inf();
  if (t < -1076.0) return 0.0;
  double n = __builtin_rint(t);
  return tile_exp_reduced_f64(((t - n) + t_low) * 0x1.62e42fefa39efp-1, n);
}

/* The limits of x^y by IEEE 754-2019 section 9.2.1, given |x|^y: 1 where y is 0 or x is 1; a negative
 * x has whole powers only, and a negative result where the power is odd. */
template <class T>
TILE_FN T tile_pow_limits(T x, T y, T size) {
  T inf = (T)__builtin_inf(), a = __builtin_elementwise_abs(x), b = __builtin_elementwise_abs(y);
  bool whole = __builtin_elementwise_rint(y) == y;
  bool odd = whole && b < (T)0x1p53 && __builtin_elementwise_rint(y / 2) != y / 2;
  if (y == 0 || x == 1) return (T)1;
  if (x != x || y != y) return x + y;
  if (a == 0 || a == inf) size = (a == 0) == (y > 0) ? (T)0 : inf;
  if (b == inf) size = a == 1 ? (T)1 : (a > 1) == (y > 0) ? inf : (T)0;
  if (x < 0 && a < inf && !whole) return inf - inf;
  return odd ? __builtin_elementwise_copysign(size, x) : size;
}

TILE_FN double tile_pow_f64(double x, double y) {
  return tile_pow_limits(x, y, tile_pow_size_f64(__builtin_fabs(x), y));
}

/* 1280 bits of 2/pi behind the binary point. */
TILE_FN unsigned long long tile_two_over_pi(int word) {
  constexpr static unsigned long long bits[20] = {
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
      0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
      0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
      0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
      0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
  return bits[word];
}

/* 64 bits of 2/pi from bit `at` on. */
TILE_FN unsigned long long tile_two_over_pi_at(int at) {
  int word = at / 64, shift = at % 64;
  unsigned long long high = tile_two_over_pi(word) << shift;
  return shift == 0 ? high : high | tile_two_over_pi(word + 1) >> (64 - shift);
}

/* x = q pi/2 + result, |result| <= pi/4, for |x| >= 2^20 by integer arithmetic (Payne and Hanek
 * 1983). x is m 2^e with a 53-bit m. Bits of 2/pi that contribute multiples of 4 to m 2^e 2/pi are
 * skipped; the product of m with the next 192 holds the quadrant in front of 190 or more bits of
 * fraction. */
TILE_FN double tile_big_quadrant_f64(double x, int *q) {
  long long bits = tile_bits_to<long long>(__builtin_fabs(x));
  int e = (int)(bits >> 52) - 1075;
  if (e == 972) return x - x; /* infinity and NaN */
  int skip = e > 2 ? e - 2 : 0, shift = 62 + e - skip;
  unsigned long long m = (bits & 0xfffffffffffff) | 0x10000000000000;
  unsigned __int128 low = (unsigned __int128)m * tile_two_over_pi_at(skip + 128);
  unsigned __int128 middle = (unsigned __int128)m * tile_two_over_pi_at(skip + 64) + (low >> 64);
  unsigned __int128 high = (unsigned __int128)m * tile_two_over_pi_at(skip) + (middle >> 64);
  unsigned long long p1 = (unsigned long long)middle, p2 = (unsigned long long)high;
  unsigned long long p3 = (unsigned long long)(high >> 64);
  /* Two bits of quadrant to the top. */
  unsigned long long top = shift == 64 ? p2 : p3 << shift | p2 >> (64 - shift);
  unsigned long long next = shift == 64 ? p1 : p2 << shift | p1 >> (64 - shift);
  long long fraction = (long long)(top << 2 | next >> 62);
  int quadrant = (int)(top >> 62) + (fraction < 0);
  double r = (double)fraction * 0x1p-64 + (double)(next << 2) * 0x1p-128;
  r = r * 0x1.921fb54442d18p0;
  *q = x < 0.0 ? -quadrant : quadrant;
  return x < 0.0 ? -r : r;
}

/* The same for any x. Products with the first part of pi/2 are exact, and so is the first
 * difference; what follows is small. */
TILE_FN double tile_quadrant_f64(double x, int *q) {
  if (!(__builtin_fabs(x) < 0x1p20)) return tile_big_quadrant_f64(x, q);
  double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  *q = (int)n;
  double r = __builtin_fma(-n, 0x1.921fb54442d18p0, x);
  r = __builtin_fma(-n, 0x1.1a62633145c07p-54, r);
  return __builtin_fma(n, 0x1.f1976b7ed8fbcp-110, r);
}

/* Sine and cosine of |r| <= pi/4. */
TILE_FN double tile_sin_reduced_f64(double r) {
  double z = r * r, p = 1.0 / 355687428096000;
  p = p * z - 1.0 / 1307674368000;
  p = p * z + 1.0 / 6227020800;
  p = p * z - 1.0 / 39916800;
  p = p * z + 1.0 / 362880;
  p = p * z - 1.0 / 5040;
  p = p * z + 1.0 / 120;
  p = p * z - 1.0 / 6;
  return r * z * p + r;
}

TILE_FN double tile_cos_reduced_f64(double r) {
  double z = r * r, p = 1.0 / 20922789888000;
  p = p * z - 1.0 / 87178291200;
  p = p * z + 1.0 / 479001600;
  p = p * z - 1.0 / 3628800;
  p = p * z + 1.0 / 40320;
  p = p * z - 1.0 / 720;
  p = p * z + 1.0 / 24;
  double half = 0.5 * z, whole = 1.0 - half;
  return whole + (((1.0 - whole) - half) + z * z * p);
}

TILE_FN double tile_sin_quadrant_f64(double r, int q) {
  double y = q & 1 ? tile_cos_reduced_f64(r) : tile_sin_reduced_f64(r);
  return q & 2 ? -y : y;
}

TILE_FN double tile_sin_f64(double x) {
  int q;
  double r = tile_quadrant_f64(x, &q);
  return x == 0.0 ? x : tile_sin_quadrant_f64(r, q);
}

TILE_FN double tile_cos_f64(double x) {
  int q;
  double r = tile_quadrant_f64(x, &q);
  return tile_sin_quadrant_f64(r, q + 1);
}

TILE_FN double tile_tan_f64(double x) {
  int q;
  double r = tile_quadrant_f64(x, &q);
  double s = tile_sin_reduced_f64(r), c = tile_cos_reduced_f64(r);
  return x == 0.0 ? x : q & 1 ? -c / s : s / c;
}

/* arctan of |t| <= tan(pi/12). */
TILE_FN double tile_atan_reduced_f64(double t) {
  double z = t * t, p = -1.0 / 27;
  p = p * z + 1.0 / 25;
  p = p * z - 1.0 / 23;
  p = p * z + 1.0 / 21;
  p = p * z - 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z - 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z - 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z - 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z - 1.0 / 3;
  return t * z * p + t;
}

/* Above 1 by the reciprocal, above tan(pi/12) by the angle less pi/6. */
TILE_FN double tile_atan_f64(double x) {
  double a = __builtin_fabs(x), t = a > 1.0 ? 1.0 / a : a;
  bool turned = t > 0x1.126145e9ecd56p-2;
  double root = 0x1.bb67ae8584caap0;
  double y = tile_atan_reduced_f64(turned ? (t * root - 1.0) / (t + root) : t);
  y = turned ? 0x1.0c152382d7366p-1 + y : y;
  y = a > 1.0 ? 0x1.921fb54442d18p0 - (y - 0x1.1a62633145c07p-54) : y;
  return __builtin_copysign(y, x);
}

TILE_FN double tile_asin_f64(double x) {
  return x == 0.0 ? x : tile_atan_f64(x / __builtin_sqrt((1.0 - x) * (1.0 + x)));
}

TILE_FN double tile_acos_f64(double x) {
  return 2.0 * tile_atan_f64(__builtin_sqrt((1.0 - x) / (1.0 + x)));
}

TILE_FN double tile_atan2_f64(double y, double x) {
  double a = __builtin_fabs(y), b = __builtin_fabs(x), inf = __builtin_inf();
  double t = a == 0.0 ? 0.0 : a == inf && b == inf ? 0x1.921fb54442d18p-1 : tile_atan_f64(a / b);
  if (x != x || y != y) return x + y;
  if (__builtin_signbit(x)) t = 0x1.921fb54442d18p1 - (t - 0x1.1a62633145c07p-53);
  return __builtin_copysign(t, y);
}

TILE_FN double tile_sinh_f64(double x) {
  double a = __builtin_fabs(x), t = tile_expm1_f64(a < 22.0 ? a : 22.0);
  double half = tile_exp_f64(0.5 * a);
  return __builtin_copysign(a < 22.0 ? 0.5 * (t + t / (t + 1.0)) : 0.5 * half * half, x);
}

TILE_FN double tile_cosh_f64(double x) {
  double a = __builtin_fabs(x), t = tile_exp_f64(a), half = tile_exp_f64(0.5 * a);
  return a < 22.0 ? 0.5 * t + 0.5 / t : 0.5 * half * half;
}

/* With t = e^(2|x|) - 1: tanh |x| = t / (t + 2). From 20 on the result is 1. */
TILE_FN double tile_tanh_f64(double x) {
  double a = __builtin_fabs(x), t = tile_expm1_f64(a > 20.0 ? 40.0 : 2.0 * a);
  return __builtin_copysign(t / (t + 2.0), x);
}

/* Beyond 2^28 the root is the argument itself. */
TILE_FN double tile_asinh_f64(double x) {
  double a = __builtin_fabs(x), far = tile_log_f64(a) + 0x1.62e42fefa39efp-1;
  double near = tile_log1p_f64(a + a * a / (1.0 + __builtin_sqrt(1.0 + a * a)));
  return __builtin_copysign(a > 0x1p28 ? far : near, x);
}

TILE_FN double tile_acosh_f64(double x) {
  double t = x - 1.0, far = tile_log_f64(x) + 0x1.62e42fefa39efp-1;
  return x > 0x1p28 ? far : tile_log1p_f64(t + __builtin_sqrt(2.0 * t + t * t));
}

TILE_FN double tile_atanh_f64(double x) {
  double a = __builtin_fabs(x);
  return __builtin_copysign(0.5 * tile_log1p_f64(2.0 * a / (1.0 - a)), x);
}

/* Below 1: x + x p(x^2). Above: 1 - e^(-x^2) p(t), t = (x - 2) / (x + 2). Both are Chebyshev fits, to
 * 2^-62 and 2^-53. From 6 on the result is 1. */
TILE_FN double tile_erf_f64(double x) {
  double a = __builtin_fabs(x), z = a * a;
  double y = a < 1.0 ? a + a * tile_erf_near_f64(z) : 1.0;
  double t = (a - 2.0) / (a + 2.0);
  if (a >= 1.0 && a < 6.0) y = 1.0 - tile_exp_f64(-z) * tile_erf_far_f64(t);
  return x != x ? x : __builtin_copysign(y, x);
}

TILE_FN double tile_erf_near_f64(double z) {
  double p = 0x1.05ffd737fb32ep-34 * z - 0x1.389d4f2641625p-30;
  p = p * z + 0x1.f7b4bf3b13964p-27;
  p = p * z - 0x1.5f1ecb6f0764cp-23;
  p = p * z + 0x1.b9df224ca4b97p-20;
  p = p * z - 0x1.f4d1e3183f7aep-17;
  p = p * z + 0x1.f9a321d5b8e1ep-14;
  p = p * z - 0x1.c02db3dac435fp-11;
  p = p * z + 0x1.565bcd0dbaa38p-8;
  p = p * z - 0x1.b82ce31284e00p-6;
  p = p * z + 0x1.ce2f21a042b30p-4;
  p = p * z - 0x1.812746b0379e6p-2;
  return p * z + 0x1.06eba8214db69p-3;
}

TILE_FN double tile_erf_far_f64(double t) {
  double p = 0x1.06de90fce20e3p-18 * t + 0x1.e89749bb276c3p-20;
  p = p * t - 0x1.d8072f8b2af1ep-17;
  p = p * t - 0x1.cfd845cfda3f9p-16;
  p = p * t + 0x1.ce18d5b499621p-16;
  p = p * t + 0x1.6dac8e32716eep-13;
  p = p * t + 0x1.6d5bf00483674p-15;
  p = p * t - 0x1.016b61e9c90a9p-10;
  p = p * t - 0x1.bc25a2a5685b8p-11;
  p = p * t + 0x1.ca95ed5c92a4bp-8;
  p = p * t + 0x1.e9471595c0b9dp-9;
  p = p * t - 0x1.437f0b68c2dc0p-4;
  p = p * t + 0x1.eeea7dc8a7932p-3;
  p = p * t - 0x1.b57034efd3f69p-2;
  return p * t + 0x1.058671b52c776p-2;
}

/* The remainder with the sign of x. Doubling y until it passes x/2, and halving it again, are exact,
 * and so is every difference. */
template <class T>
TILE_FN T tile_fmod(T x, T y) {
  T a = __builtin_elementwise_abs(x), b = __builtin_elementwise_abs(y), inf = (T)__builtin_inf();
  if (!(a < inf) || !(b > 0)) return (x - x) / (y - y);
  T c = b;
  while (c <= a / 2) c = c + c;
  for (; c >= b && a >= b && b < inf; c = c / 2)
    if (a >= c) a = a - c;
  return __builtin_elementwise_copysign(a, x);
}

TILE_FN double tile_fmod_f64(double x, double y) { return tile_fmod(x, y); }

TILE_FN double tile_hypot_f64(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y), inf = __builtin_inf();
  if (a == inf || b == inf) return inf;
  double big = a > b ? a : b, t = (a > b ? b : a) / big;
  return x != x || y != y ? x + y : big == 0.0 ? 0.0 : big * __builtin_sqrt(1.0 + t * t);
}

/* The neighbour of x towards y; I is the integer of the size of T. */
template <class I, class T>
TILE_FN T tile_nextafter(T x, T y) {
  I bits = tile_bits_to<I>(x);
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return __builtin_elementwise_copysign(tile_bits_to<T>((I)1), y);
  return tile_bits_to<T>((y > x) == (x > 0) ? bits + 1 : bits - 1);
}

TILE_FN double tile_nextafter_f64(double x, double y) { return tile_nextafter<long long>(x, y); }
