struct softmax_ctx {
  const struct tile_rt *rt;
  const float *X;
  float *Y;
  int64_t M;
};

static void softmax_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct softmax_ctx *ctx = context;
  const float *const X = ctx->X;
  float *const Y = ctx->Y;
  const int64_t M = ctx->M;
  const int64_t b = job;
  // <tile-ir>:5
  if (b * 4 + 4 <= M) {
    float x_1[24];
    float top_1;
    float total_1;
    // <tile-ir>:8
    for (int64_t i = 0; i < 4; i++) {
      // <tile-ir>:9
      float acc = -__builtin_inff();
      f32x16 acc_v = tile_splat_f32x16(-__builtin_inff());
      // <tile-ir>:8
      const f32x16 x_1_at_3_v = tile_load_f32x16(&X[(b * 4 + i) * 24]);
      tile_store_f32x16(&x_1[0], x_1_at_3_v);
      // <tile-ir>:9
      acc_v = tile_max_f32x16(acc_v, x_1_at_3_v);
      acc = tile_max_f32(acc, tile_hmax_f32x16(acc_v));
      f32x8 acc_v_1 = tile_splat_f32x8(-__builtin_inff());
      // <tile-ir>:8
      const f32x8 x_1_at_5_v = tile_load_f32x8(&X[(b * 4 + i) * 24 + 16]);
      tile_store_f32x8(&x_1[16], x_1_at_5_v);
      // <tile-ir>:9
      acc_v_1 = tile_max_f32x8(acc_v_1, x_1_at_5_v);
      acc = tile_max_f32(acc, tile_hmax_f32x8(acc_v_1));
      top_1 = acc;
      // <tile-ir>:11
      float acc_1 = 0.0f;
      const float top_1_u = top_1;
      f32x16 acc_1_v = tile_splat_f32x16(0.0f);
      // <tile-ir>:10
      const f32x16 x_1_at_6_v = tile_exp_f32x16(tile_load_f32x16(&x_1[0]) - tile_splat_f32x16(top_1_u));
      tile_store_f32x16(&x_1[0], x_1_at_6_v);
      // <tile-ir>:11
      acc_1_v = acc_1_v + x_1_at_6_v;
      acc_1 = acc_1 + tile_hsum_f32x16(acc_1_v);
      const float top_1_u_1 = top_1;
      f32x8 acc_1_v_1 = tile_splat_f32x8(0.0f);
      // <tile-ir>:10
      const f32x8 x_1_at_8_v = tile_exp_f32x8(tile_load_f32x8(&x_1[16]) - tile_splat_f32x8(top_1_u_1));
      tile_store_f32x8(&x_1[16], x_1_at_8_v);
      // <tile-ir>:11
      acc_1_v_1 = acc_1_v_1 + x_1_at_8_v;
      acc_1 = acc_1 + tile_hsum_f32x8(acc_1_v_1);
      total_1 = acc_1;
      // <tile-ir>:13
      const float total_1_u = 1.0f / total_1;
      // <tile-ir>:12
      const f32x16 x_1_at_2_v = tile_load_f32x16(&x_1[0]) * tile_splat_f32x16(total_1_u);
      // <tile-ir>:13
      tile_store_f32x16(&Y[(b * 4 + i) * 24], x_1_at_2_v);
      const float total_1_u_1 = 1.0f / total_1;
      // <tile-ir>:12
      const f32x8 x_1_at_9_v = tile_load_f32x8(&x_1[16]) * tile_splat_f32x8(total_1_u_1);
      // <tile-ir>:13
      tile_store_f32x8(&Y[(b * 4 + i) * 24 + 16], x_1_at_9_v);
    }
  } else {
    float x[96];
    float top;
    float total;
    // <tile-ir>:8
    const int64_t rows = tile_imin_i64(M - b * 4, 4);
    for (int64_t i = 0; i < rows; i++) {
      tile_store_f32x16(&x[i * 24], tile_load_f32x16(&X[(b * 4 + i) * 24]));
      tile_store_f32x8(&x[i * 24 + 16], tile_load_f32x8(&X[(b * 4 + i) * 24 + 16]));
    }
    for (int64_t i = 0; i < 4 - rows; i++) {
      tile_store_f32x16(&x[(i + rows) * 24], tile_splat_f32x16(0.0f));
      tile_store_f32x8(&x[(i + rows) * 24 + 16], tile_splat_f32x8(0.0f));
    }
    // <tile-ir>:13
    const int64_t rows_1 = tile_imin_i64(M - b * 4, 4);
    // <tile-ir>:9
    for (int64_t i = 0; i < 4; i++) {
      float acc_2 = -__builtin_inff();
      f32x16 acc_2_v = tile_splat_f32x16(-__builtin_inff());
      acc_2_v = tile_max_f32x16(acc_2_v, tile_load_f32x16(&x[i * 24]));
      acc_2 = tile_max_f32(acc_2, tile_hmax_f32x16(acc_2_v));
      f32x8 acc_2_v_1 = tile_splat_f32x8(-__builtin_inff());
      acc_2_v_1 = tile_max_f32x8(acc_2_v_1, tile_load_f32x8(&x[i * 24 + 16]));
      acc_2 = tile_max_f32(acc_2, tile_hmax_f32x8(acc_2_v_1));
      top = acc_2;
      // <tile-ir>:11
      float acc_3 = 0.0f;
      const float top_u = top;
      f32x16 acc_3_v = tile_splat_f32x16(0.0f);
      // <tile-ir>:10
      const f32x16 x_at_2_v = tile_exp_f32x16(tile_load_f32x16(&x[i * 24]) - tile_splat_f32x16(top_u));
      tile_store_f32x16(&x[i * 24], x_at_2_v);
      // <tile-ir>:11
      acc_3_v = acc_3_v + x_at_2_v;
      acc_3 = acc_3 + tile_hsum_f32x16(acc_3_v);
      const float top_u_1 = top;
      f32x8 acc_3_v_1 = tile_splat_f32x8(0.0f);
      // <tile-ir>:10
      const f32x8 x_at_4_v = tile_exp_f32x8(tile_load_f32x8(&x[i * 24 + 16]) - tile_splat_f32x8(top_u_1));
      tile_store_f32x8(&x[i * 24 + 16], x_at_4_v);
      // <tile-ir>:11
      acc_3_v_1 = acc_3_v_1 + x_at_4_v;
      acc_3 = acc_3 + tile_hsum_f32x8(acc_3_v_1);
      total = acc_3;
      // <tile-ir>:12
      const float total_u = 1.0f / total;
      const f32x16 x_at_1_v = tile_load_f32x16(&x[i * 24]) * tile_splat_f32x16(total_u);
      tile_store_f32x16(&x[i * 24], x_at_1_v);
      const float total_u_1 = 1.0f / total;
      const f32x8 x_at_5_v = tile_load_f32x8(&x[i * 24 + 16]) * tile_splat_f32x8(total_u_1);
      tile_store_f32x8(&x[i * 24 + 16], x_at_5_v);
    }
    // <tile-ir>:13
    for (int64_t i = 0; i < rows_1; i++) {
      tile_store_f32x16(&Y[(b * 4 + i) * 24], tile_load_f32x16(&x[i * 24]));
      tile_store_f32x8(&Y[(b * 4 + i) * 24 + 16], tile_load_f32x8(&x[i * 24 + 16]));
    }
  }
}

TILE_EXPORT int32_t softmax(const uint64_t *args, const struct tile_rt *rt) {
  float *const X = (float *)args[0];
  float *const Y = (float *)args[1];
  const int64_t M = (int64_t)args[2];
  // <tile-ir>:3
  {
    struct softmax_ctx ctx = {rt, X, Y, M};
    const int64_t njobs = tile_ceildiv_i64(M, 4);
    rt->parallel_for(rt, njobs, softmax_job, &ctx, 64);
  }
  return 0;
}
