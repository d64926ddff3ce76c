/* Conversions by the language's rules: floats to nearest, ties to even; a finite value beyond the
 * range of a type of at most 8 bits becomes its largest finite value; NaN stays where the type has
 * one. Narrow floats are carried as f32; memory holds their codes. */
TILE_FN float tile_f16_to_f32(unsigned short code) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(code));
  return r;
}

TILE_FN unsigned short tile_f32_to_f16(float x) {
  unsigned short r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}

TILE_FN unsigned short tile_f64_to_f16(double x) {
  unsigned short r;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r) : "d"(x));
  return r;
}

/* Two at once: `low` goes to the lower half. */
TILE_FN unsigned tile_pack_f16(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(low), "f"(high));
  return r;
#else
  return tile_f32_to_f16(low) | (unsigned)tile_f32_to_f16(high) << 16;
#endif
}

TILE_FN float tile_bf16_to_f32(unsigned short code) {
  return __uint_as_float((unsigned)code << 16);
}

TILE_FN unsigned short tile_f32_to_bf16(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
#else
  unsigned u = __float_as_uint(x);
  return x != x ? 0x7fc0 : (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
#endif
}

TILE_FN unsigned tile_pack_bf16(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(low), "f"(high));
  return r;
#else
  return tile_f32_to_bf16(low) | (unsigned)tile_f32_to_bf16(high) << 16;
#endif
}

/* Many at once, two by an instruction. */
template <int N>
TILE_FN tile_vec<unsigned short, N> tile_encode_f16(tile_vec<float, N> x) {
  tile_vec<unsigned short, N> r;
#pragma unroll
  for (int i = 0; i < N; i += 2) ((unsigned *)r.v)[i / 2] = tile_pack_f16(x.v[i], x.v[i + 1]);
  return r;
}

template <int N>
TILE_FN tile_vec<unsigned short, N> tile_encode_bf16(tile_vec<float, N> x) {
  tile_vec<unsigned short, N> r;
#pragma unroll
  for (int i = 0; i < N; i += 2) ((unsigned *)r.v)[i / 2] = tile_pack_bf16(x.v[i], x.v[i + 1]);
  return r;
}

template <int N>
TILE_FN tile_vec<float, N> tile_decode_f16(tile_vec<unsigned short, N> x) {
  tile_vec<float, N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = tile_f16_to_f32(x.v[i]);
  return r;
}

/* An f32 with the 10 mantissa bits of tf32; ties to even, which cvt.rna does not do. */
TILE_FN float tile_f32_to_tf32(float x) {
  unsigned u = __float_as_uint(x);
  return x != x ? x : __uint_as_float((u + 0xfff + ((u >> 13) & 1)) & 0xffffe000);
}

/* f64 to f32 with the last bit set if anything was lost ("to odd"): rounding that once more to a
 * narrower type is as if the f64 had been rounded to it directly. */
TILE_FN float tile_to_odd(double x) {
  float r = __double2float_rz(x);
  return (double)r != x && x == x ? __uint_as_float(__float_as_uint(r) | 1) : r;
}

/* Beyond 2^53 a double loses bits; one that stands for them keeps ties apart when it is narrowed. */
TILE_FN double tile_wide_i64(long long x) {
  double r = __ll2double_rz(x);
  bool lost = r < 0x1p63 && (long long)r != x;
  return lost ? __longlong_as_double(__double_as_longlong(r) | 1) : r;
}

TILE_FN double tile_wide_u64(unsigned long long x) {
  double r = __ull2double_rz(x);
  bool lost = r < 0x1p64 && (unsigned long long)r != x;
  return lost ? __longlong_as_double(__double_as_longlong(r) | 1) : r;
}

/* The generic conversion, by the bits; the numbers are those of a format (see formats.py). */
template <class F>
TILE_FN float tile_decode(int code) {
  int magnitude = code & F::magnitude_mask;
  /* As an f32 the shifted magnitude is too small by a power of two, also if it is subnormal. */
  unsigned bits = __float_as_uint(__int_as_float(magnitude << F::shift) * F::decode_scale);
  if (magnitude >= F::first_infinite) bits |= 0x7f800000;
  if ((code & F::nan_mask) == F::nan_match) bits |= 0x7fc00000;
  return __uint_as_float(bits | (unsigned)(code & F::sign_mask) << F::sign_shift);
}

template <class F>
TILE_FN int tile_encode(float x) {
  int u = __float_as_int(x) & 0x7fffffff;
  int normal = (u - (F::rebias << 23) + (1 << (F::shift - 1)) - 1 + ((u >> F::shift) & 1)) >> F::shift;
  /* Adding this number leaves the subnormals' last place as the sum's, so the adder rounds. */
  float sum = __int_as_float(u) + __int_as_float(F::subnormal_magic);
  int code = u < F::smallest_normal ? __float_as_int(sum) - F::subnormal_magic : normal;
  code = code > F::overflow_code ? F::overflow_code : code;
  code = u == 0x7f800000 ? F::inf_code : code;
  int sign = (__float_as_int(x) >> 31) & F::sign_mask;
  code |= F::negative_zero || code != 0 ? sign : 0;
  return u > 0x7f800000 ? F::nan_code : code;
}

/* Powers of two: the code is the exponent. Rounds up; 2^-127 is subnormal in f32. */
TILE_FN float tile_f8e8m0fnu_to_f32(unsigned char code) {
  return __int_as_float(code == 0 ? 0x00400000 : code == 255 ? 0x7fc00000 : code << 23);
}

TILE_FN unsigned char tile_f32_to_f8e8m0fnu(float x) {
  int u = __float_as_int(x);
  int code = (int)((unsigned)(u + 0x7fffff) >> 23);
  code = code > 254 ? 254 : code;
  code = u > 0x00400000 ? code : 0; /* zero, 2^-127 and everything negative: the lowest code */
  return (unsigned char)(x != x ? 255 : code);
}

/* The instructions turn infinity into the largest finite value; e5m2 has an infinity of its own. */
TILE_FN unsigned char tile_f32_to_f8e4m3fn(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));
  return (unsigned char)r;
#else
  return (unsigned char)tile_encode<tile_format_f8e4m3fn>(x);
#endif
}

TILE_FN float tile_f8e4m3fn_to_f32(unsigned char code) {
#if __CUDA_ARCH__ >= 890
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)code));
  return tile_f16_to_f32((unsigned short)pair);
#else
  return tile_decode<tile_format_f8e4m3fn>(code);
#endif
}

TILE_FN unsigned char tile_f32_to_f8e5m2(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));
  unsigned u = __float_as_uint(x);
  return (u & 0x7fffffff) == 0x7f800000 ? (unsigned char)(0x7c | u >> 24 & 0x80) : (unsigned char)r;
#else
  return (unsigned char)tile_encode<tile_format_f8e5m2>(x);
#endif
}

/* Floats to integers: truncated; out of range becomes the nearest bound, NaN becomes 0 (the
 * instruction gives the lowest number where 64 bits are involved). */
TILE_FN int tile_f32_to_i32(float x) { return __float2int_rz(x); }

TILE_FN unsigned tile_f32_to_u32(float x) { return __float2uint_rz(x); }

TILE_FN long long tile_f32_to_i64(float x) { return x == x ? __float2ll_rz(x) : 0; }

TILE_FN unsigned long long tile_f32_to_u64(float x) { return x == x ? __float2ull_rz(x) : 0; }

TILE_FN int tile_f64_to_i32(double x) { return x == x ? __double2int_rz(x) : 0; }

TILE_FN unsigned tile_f64_to_u32(double x) { return x == x ? __double2uint_rz(x) : 0; }

TILE_FN long long tile_f64_to_i64(double x) { return x == x ? __double2ll_rz(x) : 0; }

TILE_FN unsigned long long tile_f64_to_u64(double x) { return x == x ? __double2ull_rz(x) : 0; }
