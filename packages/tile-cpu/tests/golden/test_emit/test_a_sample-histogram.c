struct histogram_ctx {
  const struct tile_rt *rt;
  int32_t *H;
  const int32_t *X;
  int64_t n;
};

static void histogram_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct histogram_ctx *ctx = context;
  int32_t *const H = ctx->H;
  const int32_t *const X = ctx->X;
  const int64_t n = ctx->n;
  const int64_t b = job;
  // <tile-ir>:5
  const int64_t i_end = tile_imin_i64(n - b * 32, 32);
  for (int64_t i = 0; i < i_end; i++) {
    // <tile-ir>:6
    tile_atomic_add_i32(&H[tile_floormod_i64((int64_t)X[b * 32 + i], 8)], 1);
  }
}

TILE_EXPORT int32_t histogram(const uint64_t *args, const struct tile_rt *rt) {
  int32_t *const X = (int32_t *)args[0];
  int32_t *const H = (int32_t *)args[1];
  const int64_t n = (int64_t)args[2];
  // <tile-ir>:3
  {
    struct histogram_ctx ctx = {rt, H, X, n};
    const int64_t njobs = tile_ceildiv_i64(n, 32);
    rt->parallel_for(rt, njobs, histogram_job, &ctx, 64);
  }
  return 0;
}
