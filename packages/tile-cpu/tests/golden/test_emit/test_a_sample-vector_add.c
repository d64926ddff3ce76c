struct vector_add_ctx {
  const struct tile_rt *rt;
  float *C;
  const float *A;
  const float *B;
  int64_t n;
};

static void vector_add_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct vector_add_ctx *ctx = context;
  float *const C = ctx->C;
  const float *const A = ctx->A;
  const float *const B = ctx->B;
  const int64_t n = ctx->n;
  const int32_t tile_past_C = n * 4 >= 16777216;
  const int64_t b = job;
  // <tile-ir>:5
  const int64_t i_end = tile_imin_i64(n - b * 64, 64);
  for (int64_t i = 0; i < i_end - 15; i += 16) {
    // <tile-ir>:6
    tile_stream_f32x16(&C[b * 64 + i], tile_load_f32x16(&A[b * 64 + i]) + tile_load_f32x16(&B[b * 64 + i]), tile_past_C);
  }
  // <tile-ir>:5
  for (int64_t i = i_end / 16 * 16; i < i_end; i++) {
    // <tile-ir>:6
    C[b * 64 + i] = A[b * 64 + i] + B[b * 64 + i];
  }
}

TILE_EXPORT int32_t vector_add(const uint64_t *args, const struct tile_rt *rt) {
  float *const A = (float *)args[0];
  float *const B = (float *)args[1];
  float *const C = (float *)args[2];
  const int64_t n = (int64_t)args[3];
  // <tile-ir>:3
  {
    struct vector_add_ctx ctx = {rt, C, A, B, n};
    const int64_t njobs = tile_ceildiv_i64(n, 64);
    rt->parallel_for(rt, njobs, vector_add_job, &ctx, 64);
  }
  return 0;
}
