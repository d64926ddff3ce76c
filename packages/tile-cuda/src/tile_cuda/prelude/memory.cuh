/* One access of BYTES bytes; both addresses are multiples of it (of 16 where it is more). */
template <int BYTES>
TILE_FN void tile_move(void *dst, const void *src) {
  if constexpr (BYTES > 16) {
    tile_move<16>(dst, src);
    tile_move<BYTES - 16>((char *)dst + 16, (const char *)src + 16);
  } else if constexpr (BYTES == 16) {
    *(uint4 *)dst = *(const uint4 *)src;
  } else if constexpr (BYTES == 8) {
    *(uint2 *)dst = *(const uint2 *)src;
  } else if constexpr (BYTES == 4) {
    *(unsigned *)dst = *(const unsigned *)src;
  } else if constexpr (BYTES == 2) {
    *(unsigned short *)dst = *(const unsigned short *)src;
  } else {
    static_assert(BYTES == 1, "accesses are powers of two");
    *(unsigned char *)dst = *(const unsigned char *)src;
  }
}

template <int N, class T>
TILE_FN tile_vec<T, N> tile_load(const T *p) {
  tile_vec<T, N> r;
  tile_move<N * sizeof(T)>(r.v, p);
  return r;
}

template <int N, class T>
TILE_FN void tile_store(T *p, tile_vec<T, N> x) {
  tile_move<N * sizeof(T)>(p, x.v);
}

/* Two 4-bit codes share a byte, the even element in the low half. */
TILE_FN unsigned char tile_load_nibble(const unsigned char *p, int i) {
  return p[i >> 1] >> ((i & 1) * 4) & 15;
}

/* Both halves of a byte must be written by one thread: the other half is read and written back. */
TILE_FN void tile_store_nibble(unsigned char *p, int i, unsigned char code) {
  int shift = (i & 1) * 4;
  p[i >> 1] = (unsigned char)((p[i >> 1] & (0xf0 >> shift)) | (code & 15) << shift);
}

/* A pointer into shared memory as the 32-bit address that instructions take. */
TILE_FN unsigned tile_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* What is an address already. */
TILE_FN unsigned tile_shared(unsigned place) { return place; }
