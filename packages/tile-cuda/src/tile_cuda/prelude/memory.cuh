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

/* A pointer into shared memory as the 32-bit address that instructions take. */
TILE_FN unsigned tile_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* What is an address already. */
TILE_FN unsigned tile_shared(unsigned place) { return place; }
