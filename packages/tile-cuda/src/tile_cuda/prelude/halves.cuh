/* Halves by words of two, each result rounded once; rounding is said, so that no product is fused
 * with a sum. */
template <int N>
TILE_FN tile_vec<unsigned short, N> tile_add_f16(tile_vec<unsigned short, N> a, tile_vec<unsigned short, N> b) {
  tile_vec<unsigned short, N> r;
#pragma unroll
  for (int i = 0; i < N; i += 2)
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(*(unsigned *)&r.v[i]) : "r"(*(unsigned *)&a.v[i]), "r"(*(unsigned *)&b.v[i]));
  return r;
}

template <int N>
TILE_FN tile_vec<unsigned short, N> tile_sub_f16(tile_vec<unsigned short, N> a, tile_vec<unsigned short, N> b) {
  tile_vec<unsigned short, N> r;
#pragma unroll
  for (int i = 0; i < N; i += 2)
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(*(unsigned *)&r.v[i]) : "r"(*(unsigned *)&a.v[i]), "r"(*(unsigned *)&b.v[i]));
  return r;
}

template <int N>
TILE_FN tile_vec<unsigned short, N> tile_mul_f16(tile_vec<unsigned short, N> a, tile_vec<unsigned short, N> b) {
  tile_vec<unsigned short, N> r;
#pragma unroll
  for (int i = 0; i < N; i += 2)
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(*(unsigned *)&r.v[i]) : "r"(*(unsigned *)&a.v[i]), "r"(*(unsigned *)&b.v[i]));
  return r;
}

template <int N>
TILE_FN tile_vec<unsigned short, N> tile_fma_f16(tile_vec<unsigned short, N> a, tile_vec<unsigned short, N> b, tile_vec<unsigned short, N> c) {
  tile_vec<unsigned short, N> r;
#pragma unroll
  for (int i = 0; i < N; i += 2)
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(*(unsigned *)&r.v[i]) : "r"(*(unsigned *)&a.v[i]), "r"(*(unsigned *)&b.v[i]), "r"(*(unsigned *)&c.v[i]));
  return r;
}

/* The pair that a word holds, the first in its lower half. */
TILE_FN tile_vec<unsigned short, 2> tile_halves_of(unsigned word) {
  tile_vec<unsigned short, 2> r;
  *(unsigned *)r.v = word;
  return r;
}

/* The bits of one of a pair. The compiler puts two that were taken apart like this together again for
   nothing; after a shift it does not. */
TILE_FN unsigned short tile_half(tile_vec<unsigned short, 2> pair, int lane) {
  unsigned short first, second;
  asm("mov.b32 {%0, %1}, %2;" : "=h"(first), "=h"(second) : "r"(*(unsigned *)pair.v));
  return lane ? second : first;
}
