/* Conversions between f32 and narrower floats, by the language's rules: to nearest, ties to even;
 * a finite value beyond the range of a type of at most 8 bits becomes its largest finite value;
 * infinity stays where the type has one; NaN stays where it has one, else it becomes the largest
 * finite value. One text for all formats: words in capitals are numbers of the format. */
TILE_FN f32xN tile_FT_to_f32xN(FTxN v) {
  i32xN code = __builtin_convertvector(v, i32xN), magnitude = code & MAGNITUDE_MASK;
  /* As an f32 the shifted magnitude is too small by a power of two, also if it is subnormal. */
  f32xN size = (f32xN)(magnitude << SHIFT) * (f32_t)DECODE_SCALE;
  i32xN bits = (i32xN)size | ((magnitude >= FIRST_INFINITE) & 0x7f800000);
  bits |= ((code & NAN_MASK) == NAN_MATCH) & 0x7fc00000;
  return (f32xN)(bits | (code & SIGN_MASK) << SIGN_SHIFT);
}

TILE_FN FTxN tile_f32_to_FTxN(f32xN v) {
  i32xN u = (i32xN)v & 0x7fffffff;
  i32xN normal = (u - (REBIAS << 23) + (1 << (SHIFT - 1)) - 1 + ((u >> SHIFT) & 1)) >> SHIFT;
  /* Adding this number leaves the subnormals' last place as the sum's, so the adder rounds. */
  f32xN magic = (f32xN)((i32xN){0} + SUBNORMAL_MAGIC);
  i32xN subnormal = (i32xN)((f32xN)u + magic) - SUBNORMAL_MAGIC;
  i32xN code = tile_select_i32xN(u < SMALLEST_NORMAL, subnormal, normal);
  code = tile_select_i32xN(code > OVERFLOW_CODE, (i32xN){0} + OVERFLOW_CODE, code);
  code = tile_select_i32xN(u == 0x7f800000, (i32xN){0} + INF_CODE, code);
  i32xN sign = ((i32xN)v >> 31) & SIGN_MASK;
  code |= NEGATIVE_ZERO ? sign : sign & (code != 0);
  code = tile_select_i32xN(u > 0x7f800000, (i32xN){0} + NAN_CODE, code);
  return __builtin_convertvector(code, FTxN);
}

/* Elements that are f32 already. */
TILE_FN f32xN tile_f32_to_f32xN(f32xN v) { return v; }

TILE_FN f32xN tile_bf16_to_f32xN(bf16xN v) { return (f32xN)(tile_widen_u16xN(v) << 16); }

/* Subnormals of f32 and bf16 are the same numbers, so rounding needs no second case. */
TILE_FN bf16xN tile_f32_to_bf16xN(f32xN v) {
  u32xN u = (u32xN)v;
  u32xN rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  rounded = tile_select_u32xN(v != v, (u32xN){0} + 0x7fc0, rounded);
  return __builtin_convertvector(rounded, bf16xN);
}

/* Powers of two: the code is the exponent. Rounds up; 2^-127 is subnormal in f32. */
TILE_FN f32xN tile_f8e8m0fnu_to_f32xN(f8e8m0fnuxN v) {
  i32xN code = __builtin_convertvector(v, i32xN);
  i32xN bits = tile_select_i32xN(code == 0, (i32xN){0} + 0x00400000, code << 23);
  return (f32xN)tile_select_i32xN(code == 255, (i32xN){0} + 0x7fc00000, bits);
}

TILE_FN f8e8m0fnuxN tile_f32_to_f8e8m0fnuxN(f32xN v) {
  i32xN u = (i32xN)v;
  i32xN code = (u + 0x7fffff) >> 23;
  code = tile_select_i32xN(code > 254, (i32xN){0} + 254, code);
  code &= u > 0x00400000; /* zero, 2^-127 and everything negative: the lowest code */
  code = tile_select_i32xN(v != v, (i32xN){0} + 255, code);
  return __builtin_convertvector(code, f8e8m0fnuxN);
}

/* f64 to f32 with the last bit set if anything was lost ("to odd"): rounding that once more to a
 * narrower type is as if the f64 had been rounded to it directly. Nearest gives one of the two f32
 * neighbours; where it is not exact and even, the odd one is next to it, towards the f64. */
TILE_FN f32xN tile_f64_to_f32_oddxN(f64xN v) {
  f32xN near = __builtin_convertvector(v, f32xN);
  f64xN back = __builtin_convertvector(near, f64xN);
  i32xN lost = __builtin_convertvector((v < back) | (v > back), i32xN);
  i32xN outward = __builtin_convertvector(tile_abs_f64xN(v) > tile_abs_f64xN(back), i32xN);
  i32xN bits = (i32xN)near, even = (bits & 1) - 1;
  i32xN step = (outward & 2) - 1; /* 1 away from zero, -1 towards it */
  return (f32xN)(bits + (lost & even & step));
}

TILE_FN FTxN tile_f64_to_FTxN(f64xN v) { return tile_f32_to_FTxN(tile_f64_to_f32_oddxN(v)); }

TILE_FN f64xN tile_FT_to_f64xN(FTxN v) {
  return __builtin_convertvector(tile_FT_to_f32xN(v), f64xN);
}

TILE_FN f32xN tile_f64_to_f32xN(f64xN v) { return __builtin_convertvector(v, f32xN); }

TILE_FN f64xN tile_f32_to_f64xN(f32xN v) { return __builtin_convertvector(v, f64xN); }

/* An f32 with the 10 mantissa bits of tf32. */
TILE_FN f32xN tile_round_tf32xN(f32xN v) {
  u32xN u = (u32xN)v;
  u32xN rounded = (u + 0xfff + ((u >> 13) & 1)) & 0xffffe000;
  return (f32xN)tile_select_u32xN(v != v, u, rounded);
}
