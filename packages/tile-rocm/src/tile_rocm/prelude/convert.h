/* Conversions by the language's rules: floats to nearest, ties to even; a finite value beyond the
 * range of a type of at most 8 bits becomes its largest finite value; NaN stays where the type has
 * one. Narrow floats are carried as f32; memory holds their codes. */
TILE_FN float tile_f16_to_f32(unsigned short code) { return (float)tile_bits_to<_Float16>(code); }

TILE_FN unsigned short tile_f32_to_f16(float x) {
  return tile_bits_to<unsigned short>((_Float16)x);
}

TILE_FN unsigned short tile_f64_to_f16(double x) { return tile_f32_to_f16(tile_to_odd(x)); }

TILE_FN float tile_bf16_to_f32(unsigned short code) {
  return tile_bits_to<float>((unsigned)code << 16);
}

TILE_FN unsigned short tile_f32_to_bf16(float x) { return tile_bits_to<unsigned short>((__bf16)x); }

/* Many at once, two by an instruction where there is one. */
template <int N>
TILE_FN tile_vec<unsigned short, N> tile_encode_f16(tile_vec<float, N> x) {
  tile_simd<float, N> wide = tile_take<tile_simd<float, N>>(x.v);
  return tile_bits_to<tile_vec<unsigned short, N>>(
      __builtin_convertvector(wide, tile_simd<_Float16, N>));
}

template <int N>
TILE_FN tile_vec<unsigned short, N> tile_encode_bf16(tile_vec<float, N> x) {
  tile_simd<float, N> wide = tile_take<tile_simd<float, N>>(x.v);
  return tile_bits_to<tile_vec<unsigned short, N>>(
      __builtin_convertvector(wide, tile_simd<__bf16, N>));
}

/* An f32 with the 10 mantissa bits of tf32; ties to even. */
TILE_FN float tile_f32_to_tf32(float x) {
  unsigned u = tile_bits_to<unsigned>(x);
  return x != x ? x : tile_bits_to<float>((u + 0xfff + ((u >> 13) & 1)) & 0xffffe000);
}

/* f64 to f32 with the last bit set if anything was lost ("to odd"): rounding that once more to a
 * narrower type is as if the f64 had been rounded to it directly. Nearest gives one of the two f32
 * neighbours; where it is not exact and even, the odd one is next to it, towards the f64. */
TILE_FN float tile_to_odd(double x) {
  float near = (float)x;
  double back = (double)near;
  int bits = tile_bits_to<int>(near);
  if (back == x || x != x || (bits & 1)) return near;
  return tile_bits_to<float>(__builtin_fabs(x) > __builtin_fabs(back) ? bits + 1 : bits - 1);
}

/* Beyond 2^53 a double loses bits; bit 11 that stands for the 11 below it keeps ties apart when the
 * number is narrowed further. */
TILE_FN double tile_wide_i64(long long x) {
  bool lost = (x > 1ll << 53 || x < -(1ll << 53)) && (x & 0x7ff) != 0;
  return (double)(lost ? (x & ~0x7ffll) | 0x800 : x);
}

TILE_FN double tile_wide_u64(unsigned long long x) {
  bool lost = x > 1ull << 53 && (x & 0x7ff) != 0;
  return (double)(lost ? (x & ~0x7ffull) | 0x800 : x);
}

/* The generic conversion, by the bits; the numbers are those of a format (see formats.py). */
template <class F>
TILE_FN float tile_decode(int code) {
  int magnitude = code & F::magnitude_mask;
  /* As an f32 the shifted magnitude is too small by a power of two, also if it is subnormal. */
  unsigned bits = tile_bits_to<unsigned>(tile_bits_to<float>(magnitude << F::shift) * F::decode_scale);
  if (magnitude >= F::first_infinite) bits |= 0x7f800000;
  if ((code & F::nan_mask) == F::nan_match) bits |= 0x7fc00000;
  return tile_bits_to<float>(bits | (unsigned)(code & F::sign_mask) << F::sign_shift);
}

template <class F>
TILE_FN int tile_encode(float x) {
  int u = tile_bits_to<int>(x) & 0x7fffffff;
  int normal = (u - (F::rebias << 23) + (1 << (F::shift - 1)) - 1 + ((u >> F::shift) & 1)) >> F::shift;
  /* Adding this number leaves the subnormals' last place as the sum's, so the adder rounds. */
  float sum = tile_bits_to<float>(u) + tile_bits_to<float>(F::subnormal_magic);
  int code = u < F::smallest_normal ? tile_bits_to<int>(sum) - F::subnormal_magic : normal;
  code = code > F::overflow_code ? F::overflow_code : code;
  code = u == 0x7f800000 ? F::inf_code : code;
  int sign = (tile_bits_to<int>(x) >> 31) & F::sign_mask;
  code |= F::negative_zero || code != 0 ? sign : 0;
  return u > 0x7f800000 ? F::nan_code : code;
}

/* Powers of two: the code is the exponent. Rounds up; 2^-127 is subnormal in f32. */
TILE_FN float tile_f8e8m0fnu_to_f32(unsigned char code) {
  return tile_bits_to<float>(code == 0 ? 0x00400000 : code == 255 ? 0x7fc00000 : code << 23);
}

TILE_FN unsigned char tile_f32_to_f8e8m0fnu(float x) {
  int u = tile_bits_to<int>(x);
  int code = (int)((unsigned)(u + 0x7fffff) >> 23);
  code = code > 254 ? 254 : code;
  code = u > 0x00400000 ? code : 0; /* zero, 2^-127 and everything negative: the lowest code */
  return (unsigned char)(x != x ? 255 : code);
}

/* Instructions for 8-bit floats: the first architecture has those without infinity and negative
 * zero, later ones those of the OCP. What is out of range must be limited before. */
TILE_FN unsigned char tile_f32_to_f8e4m3fn(float x) {
#if defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__)
  return (unsigned char)__builtin_amdgcn_cvt_pk_fp8_f32(tile_within(x, 448.0f), 0.0f, 0, false);
#else
  return (unsigned char)tile_encode<tile_format_f8e4m3fn>(x);
#endif
}

TILE_FN float tile_f8e4m3fn_to_f32(unsigned char code) {
#if defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__)
  return __builtin_amdgcn_cvt_f32_fp8(code, 0);
#else
  return tile_decode<tile_format_f8e4m3fn>(code);
#endif
}

TILE_FN unsigned char tile_f32_to_f8e4m3fnuz(float x) {
#if defined(__gfx942__)
  return (unsigned char)__builtin_amdgcn_cvt_pk_fp8_f32(tile_within(x, 240.0f), 0.0f, 0, false);
#else
  return (unsigned char)tile_encode<tile_format_f8e4m3fnuz>(x);
#endif
}

TILE_FN float tile_f8e4m3fnuz_to_f32(unsigned char code) {
#if defined(__gfx942__)
  return __builtin_amdgcn_cvt_f32_fp8(code, 0);
#else
  return tile_decode<tile_format_f8e4m3fnuz>(code);
#endif
}

TILE_FN unsigned char tile_f32_to_f8e5m2fnuz(float x) {
#if defined(__gfx942__)
  return (unsigned char)__builtin_amdgcn_cvt_pk_bf8_f32(tile_within(x, 57344.0f), 0.0f, 0, false);
#else
  return (unsigned char)tile_encode<tile_format_f8e5m2fnuz>(x);
#endif
}

TILE_FN float tile_f8e5m2fnuz_to_f32(unsigned char code) {
#if defined(__gfx942__)
  return __builtin_amdgcn_cvt_f32_bf8(code, 0);
#else
  return tile_decode<tile_format_f8e5m2fnuz>(code);
#endif
}

TILE_FN unsigned char tile_f32_to_f8e5m2(float x) {
#if defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__)
  float y = __builtin_isinf(x) ? x : tile_within(x, 57344.0f);
  return (unsigned char)__builtin_amdgcn_cvt_pk_bf8_f32(y, 0.0f, 0, false);
#else
  return (unsigned char)tile_encode<tile_format_f8e5m2>(x);
#endif
}

/* No further from zero than `most`; NaN stays. */
TILE_FN float tile_within(float x, float most) {
  return x > most ? most : x < -most ? -most : x;
}

/* Floats to integers: truncated; out of range becomes the nearest bound, NaN becomes 0. */
TILE_FN int tile_f32_to_i32(float x) {
  return x >= 0x1p31f ? 0x7fffffff : x > -0x1p31f ? (int)x : x == x ? -0x7fffffff - 1 : 0;
}

TILE_FN unsigned tile_f32_to_u32(float x) {
  return x >= 0x1p32f ? ~0u : x > 0.0f ? (unsigned)x : 0;
}

TILE_FN long long tile_f32_to_i64(float x) { return tile_f64_to_i64((double)x); }

TILE_FN unsigned long long tile_f32_to_u64(float x) { return tile_f64_to_u64((double)x); }

TILE_FN int tile_f64_to_i32(double x) {
  return x >= 0x1p31 ? 0x7fffffff : x > -0x1p31 ? (int)x : x == x ? -0x7fffffff - 1 : 0;
}

TILE_FN unsigned tile_f64_to_u32(double x) { return x >= 0x1p32 ? ~0u : x > 0.0 ? (unsigned)x : 0; }

TILE_FN long long tile_f64_to_i64(double x) {
  constexpr long long most = 0x7fffffffffffffff;
  return x >= 0x1p63 ? most : x > -0x1p63 ? (long long)x : x == x ? -most - 1 : 0;
}

TILE_FN unsigned long long tile_f64_to_u64(double x) {
  return x >= 0x1p64 ? ~0ull : x > 0.0 ? (unsigned long long)x : 0;
}
