struct double__ctx {
  const struct tile_rt *rt;
  float *job_1;
  const float *int_;
};

static void double__job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct double__ctx *ctx = context;
  float *const job_1 = ctx->job_1;
  const float *const int_ = ctx->int_;
  const int64_t worker_1 = job;
  // kernel.py:5
  tile_store_f32x4(&job_1[0], tile_load_f32x4(&int_[0]) * tile_splat_f32x4(2.0f));
}

TILE_EXPORT int32_t double_(const uint64_t *args, const struct tile_rt *rt) {
  float *const int_ = (float *)args[0];
  float *const job_1 = (float *)args[1];
  // kernel.py:3
  {
    struct double__ctx ctx = {rt, job_1, int_};
    const int64_t njobs = 1;
    rt->parallel_for(rt, njobs, double__job, &ctx, 64);
  }
  return 0;
}
