struct twice_first_ctx {
  const struct tile_rt *rt;
  float *T;
  const uint16_t *X;
  uint8_t *F;
  int64_t half_;
  int64_t n;
};

static void twice_first_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct twice_first_ctx *ctx = context;
  float *const T = ctx->T;
  const uint16_t *const X = ctx->X;
  uint8_t *const F = ctx->F;
  const int64_t half_ = ctx->half_;
  const int64_t n = ctx->n;
  const int64_t b = job;
  // kernel.py:8
  const int64_t j_end = tile_imin_i64(n - b * 2, 2);
  for (int64_t j = 0; j < j_end; j++) {
    T[b * 2 + j] = tile_f16_to_f32(X[b * 2 + j]);
  }
  for (int64_t j = 0; j < 2 - j_end; j++) {
    T[b * 2 + (j + j_end)] = 0.0f;
  }
  // kernel.py:9
  const int64_t j_1_end = tile_imin_i64(n - b * 2, 2);
  for (int64_t j = 0; j < j_1_end; j++) {
    F[b * 2 + j] = 1;
  }
}

struct twice_second_ctx {
  const struct tile_rt *rt;
  uint16_t *Y;
  const uint8_t *F;
  const float *T;
  int64_t n;
  int64_t half_;
};

static void twice_second_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct twice_second_ctx *ctx = context;
  uint16_t *const Y = ctx->Y;
  const uint8_t *const F = ctx->F;
  const float *const T = ctx->T;
  const int64_t n = ctx->n;
  const int64_t half_ = ctx->half_;
  const int64_t c = job;
  // kernel.py:14
  Y[c] = tile_f32_to_f16((F[c] != 0) ? T[tile_floordiv_i64(c, 2) * 2 + tile_floormod_i64(c, 2)] * 2.0f : 0.0f);
}

TILE_EXPORT int32_t twice(const uint64_t *args, const struct tile_rt *rt) {
  uint16_t *const X = (uint16_t *)args[0];
  uint16_t *const Y = (uint16_t *)args[1];
  const int64_t n = (int64_t)args[2];
  char *const workspace = rt->workspace(rt, tile_ceildiv_i64(tile_ceildiv_i64(n, 2) * 64, 512) * 64 + tile_ceildiv_i64(n * 8, 512) * 64);
  if (!workspace) return 0;
  float *const T = (float *)(workspace + 0);
  uint8_t *const F = (uint8_t *)(workspace + tile_ceildiv_i64(tile_ceildiv_i64(n, 2) * 64, 512) * 64);
  // kernel.py:3
  const int64_t half_ = tile_ceildiv_i64(n, 2);
  // kernel.py:6
  {
    struct twice_first_ctx ctx = {rt, T, X, F, half_, n};
    const int64_t njobs = half_;
    rt->parallel_for(rt, njobs, twice_first_job, &ctx, 64);
  }
  // kernel.py:12
  {
    struct twice_second_ctx ctx = {rt, Y, F, T, n, half_};
    const int64_t njobs = n;
    rt->parallel_for(rt, njobs, twice_second_job, &ctx, 64);
  }
  return 0;
}
