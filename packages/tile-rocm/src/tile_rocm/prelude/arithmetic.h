/* Counts of bits; zero has as many leading zeros as the type has bits. */
template <int BITS>
TILE_FN int tile_popcount(unsigned long long x) {
  return __builtin_popcountll(x & (~0ull >> (64 - BITS)));
}

template <int BITS>
TILE_FN int tile_clz(unsigned long long x) {
  x &= ~0ull >> (64 - BITS);
  return x == 0 ? BITS : __builtin_clzll(x) - (64 - BITS);
}

/* A NaN wins every maximum and minimum. */
TILE_FN float tile_max_f32(float a, float b) { return __builtin_elementwise_maximum(a, b); }

TILE_FN float tile_min_f32(float a, float b) { return __builtin_elementwise_minimum(a, b); }

TILE_FN double tile_max_f64(double a, double b) { return __builtin_elementwise_maximum(a, b); }

TILE_FN double tile_min_f64(double a, double b) { return __builtin_elementwise_minimum(a, b); }

/* Approximations by the machine's own functions, whose base is 2 and whose angles are turns. */
TILE_FN float tile_fast_exp_f32(float x) { return __builtin_amdgcn_exp2f(x * 0x1.715476p0f); }

TILE_FN float tile_fast_exp10_f32(float x) { return __builtin_amdgcn_exp2f(x * 0x1.a934fp1f); }

TILE_FN float tile_fast_log2_f32(float x) { return __builtin_amdgcn_logf(x); }

TILE_FN float tile_fast_log_f32(float x) { return __builtin_amdgcn_logf(x) * 0x1.62e43p-1f; }

TILE_FN float tile_fast_log10_f32(float x) { return __builtin_amdgcn_logf(x) * 0x1.344136p-2f; }

TILE_FN float tile_fast_rcp_f32(float x) { return __builtin_amdgcn_rcpf(x); }

TILE_FN float tile_fast_sin_f32(float x) {
  return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0x1.45f306p-3f));
}

TILE_FN float tile_fast_cos_f32(float x) {
  return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0x1.45f306p-3f));
}

TILE_FN float tile_fast_tan_f32(float x) {
  return tile_fast_sin_f32(x) * __builtin_amdgcn_rcpf(tile_fast_cos_f32(x));
}
