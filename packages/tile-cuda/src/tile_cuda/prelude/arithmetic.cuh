/* Integer operations that C++ leaves undefined or rounds otherwise. Overflow wraps around, so the
 * lowest value by -1 is itself; division by zero stays undefined. truncdiv and truncmod round
 * towards zero, floor* down, ceildiv up. */
template <class T>
TILE_FN T tile_truncdiv(T a, T b) {
  if constexpr ((T)-1 < (T)0) return b == (T)-1 ? (T)(0 - (unsigned long long)a) : (T)(a / b);
  return (T)(a / b);
}

template <class T>
TILE_FN T tile_truncmod(T a, T b) {
  if constexpr ((T)-1 < (T)0) return b == (T)-1 ? (T)0 : (T)(a % b);
  return (T)(a % b);
}

template <class T>
TILE_FN T tile_floormod(T a, T b) {
  T rest = tile_truncmod<T>(a, b);
  if constexpr ((T)-1 < (T)0) return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
  return rest;
}

template <class T>
TILE_FN T tile_floordiv(T a, T b) {
  T quotient = tile_truncdiv<T>(a, b);
  if constexpr ((T)-1 < (T)0) {
    T rest = tile_truncmod<T>(a, b);
    return (T)(quotient - (rest != 0 && (rest < 0) != (b < 0)));
  }
  return quotient;
}

template <class T>
TILE_FN T tile_ceildiv(T a, T b) {
  T rest = tile_truncmod<T>(a, b);
  return (T)(tile_truncdiv<T>(a, b) + (rest != 0 && (rest < 0) == (b < 0)));
}

template <class T>
TILE_FN T tile_imin(T a, T b) {
  return a < b ? a : b;
}

template <class T>
TILE_FN T tile_imax(T a, T b) {
  return a > b ? a : b;
}

template <class T>
TILE_FN T tile_iabs(T a) {
  return a < 0 ? (T)(0 - (unsigned long long)a) : a;
}

/* The value of the low four bits. */
TILE_FN signed char tile_wrap_i4(int x) { return (signed char)(((x & 15) ^ 8) - 8); }

TILE_FN unsigned char tile_wrap_u4(int x) { return (unsigned char)(x & 15); }

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
