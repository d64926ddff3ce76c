struct speak_ctx {
  const struct tile_rt *rt;
  const int32_t *x;
};

static void speak_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct speak_ctx *ctx = context;
  const struct tile_rt *const rt = ctx->rt;
  const int32_t *const x = ctx->x;
  const int64_t b = job;
  // kernel.py:6
  if (!(x[b] >= 0)) {
    rt->fail(rt, "a negative number\n  at kernel.py:6:7", "", 0);
    return;
  }
  // kernel.py:7
  rt->print(rt, "x and half {} {}\n", "if", (const uint64_t[]){(uint64_t)(int64_t)x[b], tile_bits_f64((double)(float)x[b] * 0.5f)});
}

TILE_EXPORT int32_t speak(const uint64_t *args, const struct tile_rt *rt) {
  int32_t *const x = (int32_t *)args[0];
  const int32_t n = (int32_t)args[1];
  // kernel.py:3
  if (!(n > 0)) {
    rt->fail(rt, "n must be positive\n  at kernel.py:3:3", "", 0);
    return 0;
  }
  // kernel.py:4
  {
    struct speak_ctx ctx = {rt, x};
    const int64_t njobs = 8;
    rt->parallel_for(rt, njobs, speak_job, &ctx, 64);
  }
  return 0;
}
