/* Counts of bits; zero has as many leading zeros as the type has bits. */
template <int BITS>
TILE_FN int tile_popcount(unsigned long long x) {
  return BITS == 64 ? __popcll((long long)x) : __popc((int)(x & (~0ull >> (64 - BITS))));
}

template <int BITS>
TILE_FN int tile_clz(unsigned long long x) {
  return BITS == 64 ? __clzll((long long)x) : __clz((int)(x & (~0ull >> (64 - BITS)))) - (32 - BITS);
}

/* A NaN wins every maximum and minimum. */
TILE_FN float tile_max_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a > b || a != a ? a : b;
#endif
}

TILE_FN float tile_min_f32(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return a < b || a != a ? a : b;
#endif
}

TILE_FN double tile_max_f64(double a, double b) { return a > b || a != a ? a : b; }

TILE_FN double tile_min_f64(double a, double b) { return a < b || a != a ? a : b; }

/* One instruction, to 2^-22 of the result (PTX ISA, ex2.approx), as exact as exp2f where that is
 * normal. What is below 2^-126 becomes 0: exp2f scales twice for it, three instructions more. */
TILE_FN float tile_exp2_f32(float x) {
#ifdef TILE_STRICT
  return exp2f(x);
#else
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#endif
}

/* Approximation by one instruction (largest relative error: PTX ISA, rcp.approx). */
TILE_FN float tile_fast_rcp_f32(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/* x & mask | bits in one instruction; from C++ come two where both are constants. */
TILE_FN unsigned tile_keep_and_set(unsigned x, unsigned mask, unsigned bits) {
  unsigned r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "r"(mask), "r"(bits));
  return r;
}
