struct two_kernels_sums_ctx {
  const struct tile_rt *rt;
  const float *A;
  float *total;
  int64_t M;
  int64_t N;
};

static void two_kernels_sums_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct two_kernels_sums_ctx *ctx = context;
  const float *const A = ctx->A;
  float *const total = ctx->total;
  const int64_t M = ctx->M;
  const int64_t N = ctx->N;
  const int64_t b = job;
  // <tile-ir>:6
  if (b * 4 + 4 <= M) {
    float a_1[64];
    float t_1[4];
    // <tile-ir>:8
    tile_store_f32x4(&t_1[0], tile_splat_f32x4(0.0f));
    // <tile-ir>:9
    for (int64_t k = 0; k < tile_ceildiv_i64(N, 16); k++) {
      // <tile-ir>:10
      if (k * 16 + 16 <= N) {
        for (int64_t i = 0; i < 4; i++) {
          // <tile-ir>:11
          float acc = 0.0f;
          f32x16 acc_v = tile_splat_f32x16(0.0f);
          // <tile-ir>:10
          const f32x16 a_1_at_1_v = tile_load_f32x16(&A[(b * 4 + i) * N + k * 16]);
          tile_store_f32x16(&a_1[i * 16], a_1_at_1_v);
          // <tile-ir>:11
          acc_v = acc_v + a_1_at_1_v;
          acc = acc + tile_hsum_f32x16(acc_v);
          t_1[i] = t_1[i] + acc;
        }
      } else {
        // <tile-ir>:10
        const int64_t cols = tile_imin_i64(N - k * 16, 16);
        for (int64_t i = 0; i < 4; i++) {
          for (int64_t j = 0; j < cols - 15; j += 16) {
            tile_store_f32x16(&a_1[i * 16 + j], tile_load_f32x16(&A[(b * 4 + i) * N + (k * 16 + j)]));
          }
          for (int64_t j_2 = cols / 16 * 16; j_2 < cols; j_2++) {
            a_1[i * 16 + j_2] = A[(b * 4 + i) * N + (k * 16 + j_2)];
          }
          for (int64_t j = 0; j < 16 - cols - 15; j += 16) {
            tile_store_f32x16(&a_1[i * 16 + (j + cols)], tile_splat_f32x16(0.0f));
          }
          for (int64_t j_3 = (16 - cols) / 16 * 16; j_3 < 16 - cols; j_3++) {
            a_1[i * 16 + (j_3 + cols)] = 0.0f;
          }
          // <tile-ir>:11
          float acc_1 = 0.0f;
          f32x16 acc_1_v = tile_splat_f32x16(0.0f);
          acc_1_v = acc_1_v + tile_load_f32x16(&a_1[i * 16]);
          acc_1 = acc_1 + tile_hsum_f32x16(acc_1_v);
          t_1[i] = t_1[i] + acc_1;
        }
      }
    }
    // <tile-ir>:13
    tile_store_f32x4(&total[b * 4], tile_load_f32x4(&t_1[0]));
  } else {
    float a[64];
    float t[4];
    // <tile-ir>:8
    tile_store_f32x4(&t[0], tile_splat_f32x4(0.0f));
    // <tile-ir>:9
    for (int64_t k = 0; k < tile_ceildiv_i64(N, 16); k++) {
      // <tile-ir>:10
      const int64_t rows = tile_imin_i64(M - b * 4, 4);
      const int64_t cols = tile_imin_i64(N - k * 16, 16);
      for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols - 15; j += 16) {
          tile_store_f32x16(&a[i * 16 + j], tile_load_f32x16(&A[(b * 4 + i) * N + (k * 16 + j)]));
        }
        for (int64_t j_4 = cols / 16 * 16; j_4 < cols; j_4++) {
          a[i * 16 + j_4] = A[(b * 4 + i) * N + (k * 16 + j_4)];
        }
      }
      for (int64_t i = 0; i < 4 - rows; i++) {
        tile_store_f32x16(&a[(i + rows) * 16], tile_splat_f32x16(0.0f));
      }
      for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < 16 - cols - 15; j += 16) {
          tile_store_f32x16(&a[i * 16 + (j + cols)], tile_splat_f32x16(0.0f));
        }
        for (int64_t j_6 = (16 - cols) / 16 * 16; j_6 < 16 - cols; j_6++) {
          a[i * 16 + (j_6 + cols)] = 0.0f;
        }
      }
      // <tile-ir>:11
      for (int64_t i = 0; i < 4; i++) {
        float acc_2 = 0.0f;
        f32x16 acc_2_v = tile_splat_f32x16(0.0f);
        acc_2_v = acc_2_v + tile_load_f32x16(&a[i * 16]);
        acc_2 = acc_2 + tile_hsum_f32x16(acc_2_v);
        t[i] = t[i] + acc_2;
      }
    }
    // <tile-ir>:13
    const int64_t count = tile_imin_i64(M - b * 4, 4);
    for (int64_t i = 0; i < count - 3; i += 4) {
      tile_store_f32x4(&total[b * 4 + i], tile_load_f32x4(&t[i]));
    }
    for (int64_t i_12 = count / 4 * 4; i_12 < count; i_12++) {
      total[b * 4 + i_12] = t[i_12];
    }
  }
}

struct two_kernels_centre_ctx {
  const struct tile_rt *rt;
  const float *total;
  float *B;
  const float *A;
  int64_t M;
  int64_t N;
};

static void two_kernels_centre_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct two_kernels_centre_ctx *ctx = context;
  const float *const total = ctx->total;
  float *const B = ctx->B;
  const float *const A = ctx->A;
  const int64_t M = ctx->M;
  const int64_t N = ctx->N;
  const int32_t tile_past_B = M * N * 4 >= 16777216;
  const int64_t bx = job % tile_ceildiv_i64(N, 16);
  int64_t tile_rest = job / tile_ceildiv_i64(N, 16);
  const int64_t by = tile_rest;
  // <tile-ir>:19
  const int64_t j_end = tile_imin_i64(N - bx * 16, 16);
  const float total_u = j_end > 0 ? total[by] / (float)(int32_t)N : 0.0f;
  for (int64_t j = 0; j < j_end - 15; j += 16) {
    // <tile-ir>:20
    tile_stream_f32x16(&B[by * N + (bx * 16 + j)], tile_load_f32x16(&A[by * N + (bx * 16 + j)]) - tile_splat_f32x16(total_u), tile_past_B);
  }
  // <tile-ir>:19
  for (int64_t j = j_end / 16 * 16; j < j_end; j++) {
    // <tile-ir>:20
    B[by * N + (bx * 16 + j)] = A[by * N + (bx * 16 + j)] - total[by] / (float)(int32_t)N;
  }
}

struct two_kernels_keep_ctx {
  const struct tile_rt *rt;
  float *B;
  const float *A;
  int64_t M;
  int64_t N;
};

static void two_kernels_keep_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct two_kernels_keep_ctx *ctx = context;
  float *const B = ctx->B;
  const float *const A = ctx->A;
  const int64_t M = ctx->M;
  const int64_t N = ctx->N;
  const int32_t tile_past_B = M * N * 4 >= 16777216;
  const int64_t bx = job;
  // <tile-ir>:26
  if (bx * 16 + 16 <= N) {
    for (int64_t i = 0; i < M; i++) {
      tile_stream_f32x16(&B[i * N + bx * 16], tile_load_f32x16(&A[i * N + bx * 16]), tile_past_B);
    }
  } else {
    const int64_t cols = tile_imin_i64(N - bx * 16, 16);
    for (int64_t i = 0; i < M; i++) {
      for (int64_t j = 0; j < cols - 15; j += 16) {
        tile_stream_f32x16(&B[i * N + (bx * 16 + j)], tile_load_f32x16(&A[i * N + (bx * 16 + j)]), tile_past_B);
      }
      for (int64_t j_8 = cols / 16 * 16; j_8 < cols; j_8++) {
        B[i * N + (bx * 16 + j_8)] = A[i * N + (bx * 16 + j_8)];
      }
    }
  }
}

TILE_EXPORT int32_t two_kernels(const uint64_t *args, const struct tile_rt *rt) {
  float *const A = (float *)args[0];
  float *const B = (float *)args[1];
  const int64_t M = (int64_t)args[2];
  const int64_t N = (int64_t)args[3];
  char *const workspace = rt->workspace(rt, tile_ceildiv_i64(M * 32, 512) * 64);
  if (!workspace) return 0;
  float *const total = (float *)(workspace + 0);
  // <tile-ir>:4
  {
    struct two_kernels_sums_ctx ctx = {rt, A, total, M, N};
    const int64_t njobs = tile_ceildiv_i64(M, 4);
    rt->parallel_for(rt, njobs, two_kernels_sums_job, &ctx, 64);
  }
  // <tile-ir>:16
  if (M > 1) {
    // <tile-ir>:17
    {
      struct two_kernels_centre_ctx ctx = {rt, total, B, A, M, N};
      const int64_t njobs = tile_ceildiv_i64(N, 16) * M;
      rt->parallel_for(rt, njobs, two_kernels_centre_job, &ctx, 64);
    }
  } else {
    // <tile-ir>:25
    {
      struct two_kernels_keep_ctx ctx = {rt, B, A, M, N};
      const int64_t njobs = tile_ceildiv_i64(N, 16);
      rt->parallel_for(rt, njobs, two_kernels_keep_job, &ctx, 64);
    }
  }
  return 0;
}
