/* Dot products of short vectors, one result for each 32-bit lane. Written as assembly because the
 * compilers' built-in functions of these instructions differ in name and type between gcc 12, gcc
 * 13 and clang, while the instructions themselves are the same everywhere. bf16: acc + a[2i] *
 * b[2i] + a[2i + 1] * b[2i + 1]; subnormals count as zero. */
TILE_FN f32x16 tile_dot_pair_x16(f32x16 acc, pairx16 a, pairx16 b) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
  return acc;
}

/* Four products of an unsigned byte of u and a signed byte of s. */
TILE_FN i32x16 tile_dot_quad_x16(i32x16 acc, quadx16 u, quadx16 s) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s));
  return acc;
}

/* Two products of signed 16-bit numbers. */
TILE_FN i32x16 tile_dot_words_x16(i32x16 acc, wordsx16 a, wordsx16 b) {
  wordsx16 sum;
  __asm__("vpmaddwd %2, %1, %0" : "=v"(sum) : "v"(a), "v"(b));
  return acc + sum;
}

TILE_FN i32x8 tile_dot_words_x8(i32x8 acc, wordsx8 a, wordsx8 b) {
  wordsx8 sum;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(sum) : "x"(a), "x"(b));
  return acc + sum;
}

TILE_FN i32x4 tile_dot_words_x4(i32x4 acc, wordsx4 a, wordsx4 b) {
  __asm__("pmaddwd %1, %0" : "+x"(a) : "x"(b));
  return acc + a;
}

/* Four products of signed bytes, of unsigned bytes (Armv8.2 dot product). */
TILE_FN i32x4 tile_dot_squad_x4(i32x4 acc, quadx4 a, quadx4 b) {
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(a), "w"(b));
  return acc;
}

TILE_FN i32x4 tile_dot_uquad_x4(i32x4 acc, quadx4 a, quadx4 b) {
  __asm__("udot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(a), "w"(b));
  return acc;
}
