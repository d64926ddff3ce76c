/* One access of BYTES bytes; both addresses are multiples of it (of 16 where it is more). */
template <int BYTES>
TILE_FN void tile_move(void *dst, const void *src) {
  if constexpr (BYTES > 16) {
    tile_move<16>(dst, src);
    tile_move<BYTES - 16>((char *)dst + 16, (const char *)src + 16);
  } else if constexpr (BYTES == 16) {
    *(tile_simd<unsigned, 4> *)dst = *(const tile_simd<unsigned, 4> *)src;
  } else if constexpr (BYTES == 8) {
    *(tile_simd<unsigned, 2> *)dst = *(const tile_simd<unsigned, 2> *)src;
  } else if constexpr (BYTES == 4) {
    *(unsigned *)dst = *(const unsigned *)src;
  } else if constexpr (BYTES == 2) {
    *(unsigned short *)dst = *(const unsigned short *)src;
  } else {
    static_assert(BYTES == 1, "accesses are powers of two");
    *(unsigned char *)dst = *(const unsigned char *)src;
  }
}

/* The same; nothing is read where `valid` is false. */
template <int BYTES>
TILE_FN void tile_move_or_zero(void *dst, const void *src, bool valid) {
  tile_vec<unsigned char, BYTES> r = {};
  if (valid) tile_move<BYTES>(r.v, src);
  tile_move<BYTES>(dst, r.v);
}

/* Registers as one operand of an instruction, and back. */
template <class T>
TILE_FN T tile_take(const void *p) {
  T r;
  __builtin_memcpy(&r, p, sizeof(T));
  return r;
}

template <class T>
TILE_FN void tile_put(void *p, T x) {
  __builtin_memcpy(p, &x, sizeof(T));
}

template <class T>
TILE_FN void tile_clear(void *p) {
  tile_put(p, (T)0);
}

/* 32 codes of 8, 6 and 4 bits as the first words of an operand of eight. */
TILE_FN tile_simd<int, 8> tile_take_octets(const void *p) { return tile_take<tile_simd<int, 8>>(p); }

TILE_FN tile_simd<int, 8> tile_take_quartets(const void *p) {
  tile_simd<int, 4> words = tile_take<tile_simd<int, 4>>(p);
  return (tile_simd<int, 8>){words.x, words.y, words.z, words.w, 0, 0, 0, 0};
}

/* Memory holds each code of 6 bits in a byte: 4 bytes give 24 bits, 16 bytes three words. */
TILE_FN tile_simd<int, 8> tile_take_sextets(const void *p) {
  tile_simd<unsigned, 8> bytes = tile_take<tile_simd<unsigned, 8>>(p);
  tile_simd<unsigned, 8> x = (bytes & 0x3f) | (bytes & 0x3f00) >> 2 | (bytes & 0x3f0000) >> 4 |
                             (bytes & 0x3f000000) >> 6;
  return (tile_simd<int, 8>){(int)(x.s0 | x.s1 << 24),      (int)(x.s1 >> 8 | x.s2 << 16),
                             (int)(x.s2 >> 16 | x.s3 << 8), (int)(x.s4 | x.s5 << 24),
                             (int)(x.s5 >> 8 | x.s6 << 16), (int)(x.s6 >> 16 | x.s7 << 8), 0, 0};
}
