/* Conversions by the language's rules: floats to nearest, ties to even; a finite value beyond the
 * range of a type of at most 8 bits becomes its largest finite value; NaN stays where the type has
 * one. Narrow floats are carried as f32; memory holds their codes. */
TILE_FN float tile_f16_to_f32(ushort code) { return (float)as_type<half>(code); }

TILE_FN ushort tile_f32_to_f16(float x) { return as_type<ushort>((half)x); }

TILE_FN float tile_bf16_to_f32(ushort code) { return as_type<float>((uint)code << 16); }

TILE_FN ushort tile_f32_to_bf16(float x) {
  uint u = as_type<uint>(x);
  return tile_isnan_f32(x) ? (ushort)0x7fc0 : (ushort)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

template <int N>
TILE_FN tile_vec<ushort, N> tile_encode_f16(tile_vec<float, N> x) {
  tile_vec<ushort, N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = tile_f32_to_f16(x.v[i]);
  return r;
}

template <int N>
TILE_FN tile_vec<ushort, N> tile_encode_bf16(tile_vec<float, N> x) {
  tile_vec<ushort, N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = tile_f32_to_bf16(x.v[i]);
  return r;
}

/* An f32 with the 10 mantissa bits of tf32; ties to even. */
TILE_FN float tile_f32_to_tf32(float x) {
  uint u = as_type<uint>(x);
  return tile_isnan_f32(x) ? x : as_type<float>((u + 0xfff + ((u >> 13) & 1)) & 0xffffe000);
}

/* An integer as an f32 whose last bit is set if anything was lost ("to odd"): rounding that once
 * more to a narrower type is as if the integer had been rounded to it directly. */
TILE_FN float tile_u64_to_odd(ulong x) {
  int lost = 40 - tile_clz<64>(x);
  if (lost <= 0) return (float)x;
  ulong kept = x >> lost;
  if ((kept << lost) != x) kept |= 1;
  return (float)kept * as_type<float>((uint)(127 + lost) << 23);
}

TILE_FN float tile_i64_to_odd(long x) {
  return x < 0 ? -tile_u64_to_odd(0 - (ulong)x) : tile_u64_to_odd((ulong)x);
}

TILE_FN float tile_u32_to_odd(uint x) { return tile_u64_to_odd(x); }

TILE_FN float tile_i32_to_odd(int x) { return tile_i64_to_odd(x); }

/* The generic conversion, by the bits; the numbers are those of a format. A subnormal code is a
 * multiple of the smallest: a bit pattern below the normal f32 would count as zero. */
template <class F>
TILE_FN float tile_decode(int code) {
  int magnitude = code & F::magnitude_mask;
  float unit = as_type<float>((F::rebias + F::shift - 22) << 23);
  uint normal = (uint)((magnitude << F::shift) + (F::rebias << 23));
  bool subnormal = magnitude < 1 << (23 - F::shift);
  uint bits = subnormal ? as_type<uint>((float)magnitude * unit) : normal;
  if (magnitude >= F::first_infinite) bits |= 0x7f800000;
  if ((code & F::nan_mask) == F::nan_match) bits |= 0x7fc00000;
  return as_type<float>(bits | (uint)(code & F::sign_mask) << F::sign_shift);
}

template <class F>
TILE_FN int tile_encode(float x) {
  int u = as_type<int>(x) & 0x7fffffff;
  int normal = (u - (F::rebias << 23) + (1 << (F::shift - 1)) - 1 + ((u >> F::shift) & 1)) >> F::shift;
  /* Adding this number leaves the subnormals' last place as the sum's, so the adder rounds. */
  float sum = as_type<float>(u) + as_type<float>((int)F::subnormal_magic);
  int code = u < F::smallest_normal ? as_type<int>(sum) - F::subnormal_magic : normal;
  code = code > F::overflow_code ? F::overflow_code : code;
  code = u == 0x7f800000 ? F::inf_code : code;
  int sign = (as_type<int>(x) >> 31) & F::sign_mask;
  code |= F::negative_zero || code != 0 ? sign : 0;
  return u > 0x7f800000 ? F::nan_code : code;
}

/* Powers of two: the code is the exponent. Rounds up; 2^-127 is subnormal in f32. */
TILE_FN float tile_f8e8m0fnu_to_f32(uchar code) {
  return as_type<float>(code == 0 ? 0x00400000 : code == 255 ? 0x7fc00000 : (int)code << 23);
}

TILE_FN uchar tile_f32_to_f8e8m0fnu(float x) {
  int u = as_type<int>(x);
  int code = (int)((uint)(u + 0x7fffff) >> 23);
  code = code > 254 ? 254 : code;
  code = u > 0x00400000 ? code : 0; /* zero, 2^-127 and everything negative: the lowest code */
  return tile_isnan_f32(x) ? (uchar)255 : (uchar)code;
}

/* Floats to integers: truncated; out of range becomes the nearest bound, NaN becomes 0. */
TILE_FN int tile_f32_to_i32(float x) {
  if (tile_isnan_f32(x)) return 0;
  return x >= 0x1p31f ? 0x7fffffff : x > -0x1p31f ? (int)x : -0x7fffffff - 1;
}

TILE_FN uint tile_f32_to_u32(float x) {
  if (tile_isnan_f32(x)) return 0;
  return x >= 0x1p32f ? ~0u : x > 0.0f ? (uint)x : 0;
}

TILE_FN long tile_f32_to_i64(float x) {
  if (tile_isnan_f32(x)) return 0;
  return x >= 0x1p63f ? 0x7fffffffffffffffl : x > -0x1p63f ? (long)x : -0x7fffffffffffffffl - 1;
}

TILE_FN ulong tile_f32_to_u64(float x) {
  if (tile_isnan_f32(x)) return 0;
  return x >= 0x1p64f ? ~0ul : x > 0.0f ? (ulong)x : 0;
}
