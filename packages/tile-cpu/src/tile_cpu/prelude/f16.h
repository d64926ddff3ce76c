/* f16 by the CPU's conversion instructions where it has them. Assembly, as the compilers' names for
 * these differ; the immediate 0 is round to nearest even, whatever the current mode. */
TILE_FN f32x16 tile_f16_to_f32x16(f16x16 v) {
#if defined(__AVX512F__)
  f32x16 result;
  __asm__("vcvtph2ps %1, %0" : "=v"(result) : "vm"(v));
  return result;
#else
  return tile_join_f32x16(tile_f16_to_f32x8(tile_low_f16x16(v)),
                          tile_f16_to_f32x8(tile_high_f16x16(v)));
#endif
}

TILE_FN f32x8 tile_f16_to_f32x8(f16x8 v) {
#if defined(__F16C__)
  f32x8 result;
  __asm__("vcvtph2ps %1, %0" : "=x"(result) : "xm"(v));
  return result;
#else
  return tile_join_f32x8(tile_f16_to_f32x4(tile_low_f16x8(v)),
                         tile_f16_to_f32x4(tile_high_f16x8(v)));
#endif
}

TILE_FN f32x4 tile_f16_to_f32x4(f16x4 v) {
#if defined(__F16C__)
  f32x4 result;
  __asm__("vcvtph2ps %1, %0" : "=x"(result) : "x"(tile_join_f16x8(v, (f16x4){0})));
  return result;
#elif defined(__aarch64__)
  f32x4 result;
  __asm__("fcvtl %0.4s, %1.4h" : "=w"(result) : "w"(v));
  return result;
#else
  i32x4 code = __builtin_convertvector(v, i32x4), magnitude = code & 0x7fff;
  f32x4 size = (f32x4)(magnitude << 13) * 0x1p112f;
  i32x4 bits = (i32x4)size | ((magnitude >= 0x7c00) & 0x7f800000);
  return (f32x4)(bits | (code & 0x8000) << 16);
#endif
}

TILE_FN f16x16 tile_f32_to_f16x16(f32x16 v) {
#if defined(__AVX512F__)
  f16x16 result;
  __asm__("vcvtps2ph $0, %1, %0" : "=v"(result) : "v"(v));
  return result;
#else
  return tile_join_f16x16(tile_f32_to_f16x8(tile_low_f32x16(v)),
                          tile_f32_to_f16x8(tile_high_f32x16(v)));
#endif
}

TILE_FN f16x8 tile_f32_to_f16x8(f32x8 v) {
#if defined(__F16C__)
  f16x8 result;
  __asm__("vcvtps2ph $0, %1, %0" : "=x"(result) : "x"(v));
  return result;
#else
  return tile_join_f16x8(tile_f32_to_f16x4(tile_low_f32x8(v)),
                         tile_f32_to_f16x4(tile_high_f32x8(v)));
#endif
}

TILE_FN f16x4 tile_f32_to_f16x4(f32x4 v) {
#if defined(__F16C__)
  f16x8 result;
  __asm__("vcvtps2ph $0, %1, %0" : "=x"(result) : "x"(v));
  return tile_low_f16x8(result);
#elif defined(__aarch64__)
  f16x4 result;
  __asm__("fcvtn %0.4h, %1.4s" : "=w"(result) : "w"(v));
  return result;
#else
  i32x4 u = (i32x4)v & 0x7fffffff;
  i32x4 normal = (u - (112 << 23) + 0xfff + ((u >> 13) & 1)) >> 13;
  f32x4 magic = (f32x4)((i32x4){0} + 0x3f000000);
  i32x4 code = tile_select_i32x4(u < 0x38800000, (i32x4)((f32x4)u + magic) - 0x3f000000, normal);
  code = tile_select_i32x4(code > 0x7c00, (i32x4){0} + 0x7c00, code);
  code = tile_select_i32x4(u > 0x7f800000, (i32x4){0} + 0x7e00, code);
  return __builtin_convertvector(code | (((i32x4)v >> 16) & 0x8000), f16x4);
#endif
}
