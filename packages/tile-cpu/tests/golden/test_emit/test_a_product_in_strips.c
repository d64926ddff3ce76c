struct matmul_ctx {
  const struct tile_rt *rt;
  const float *A;
  const float *B;
  float *C;
  int64_t M;
  int64_t K;
  int64_t N;
};

static void matmul_job(void *context, int64_t job, int32_t worker, char *scratch) {
  const struct matmul_ctx *ctx = context;
  const struct tile_rt *const rt = ctx->rt;
  const float *const A = ctx->A;
  const float *const B = ctx->B;
  float *const C = ctx->C;
  const int64_t M = ctx->M;
  const int64_t K = ctx->K;
  const int64_t N = ctx->N;
  char *more = scratch + 38848;
  const int32_t tile_past_C = M * N * 4 >= 16777216;
  const int64_t bx = job % tile_ceildiv_i64(N, 32);
  int64_t tile_rest = job / tile_ceildiv_i64(N, 32);
  const int64_t strip = tile_rest;
  // <tile-ir>:5
  const int64_t length = tile_ceildiv_i64(tile_ceildiv_i64(M, 32), tile_imin_i64(tile_ceildiv_i64(M, 32), tile_truncmod_i64(tile_ceildiv_i64(N, 32), rt->threads) == 0 || tile_ceildiv_i64(N, 32) >= rt->threads * 4 ? 1 : rt->threads * 2));
  // <tile-ir>:12
  const int64_t B_s_slots = tile_imin_i64(tile_ceildiv_i64(K, 256), 256);
  f32_t *const B_s = (f32_t *)more;
  more += tile_ceildiv_i64((tile_imin_i64(tile_ceildiv_i64(K, 256), 256) + 1) * 262144, 512) * 64;
  int32_t B_s_filled = 0;
  // <tile-ir>:5
  for (int64_t by = strip * length; by < tile_imin_i64(strip * length + length, tile_ceildiv_i64(M, 32)); by++) {
    float *const A_s = (float *)(scratch + 0);
    float *const C_l = (float *)(scratch + 34752);
    // <tile-ir>:9
    if (0 >= tile_ceildiv_i64(K, 16)) {
      for (int64_t i = 0; i < 32; i++) {
        for (int64_t j = 0; j < 17; j += 16) {
          tile_store_f32x16(&C_l[i * 32 + j], tile_splat_f32x16(0.0f));
        }
      }
    }
    // <tile-ir>:10
    for (int64_t k = 0; k < tile_ceildiv_i64(K, 256); k++) {
      // <tile-ir>:11
      const int64_t A_s_rows = tile_imin_i64(M - by * 32, 32);
      const int64_t A_s_cols = tile_imin_i64(K - k * 256, 256);
      // <tile-ir>:12
      const int64_t B_s_rows = tile_imin_i64(K - k * 256, 256);
      const int64_t B_s_cols = tile_imin_i64(N - bx * 32, 32);
      // <tile-ir>:11
      for (int64_t i = 0; i < A_s_rows; i++) {
        for (int64_t j = 0; j < A_s_cols - 15; j += 16) {
          tile_store_f32x16(&A_s[i * 272 + j], tile_load_f32x16(&A[(by * 32 + i) * K + (k * 256 + j)]));
        }
        for (int64_t j_1 = A_s_cols / 16 * 16; j_1 < A_s_cols; j_1++) {
          A_s[i * 272 + j_1] = A[(by * 32 + i) * K + (k * 256 + j_1)];
        }
      }
      // <tile-ir>:12
      if ((int32_t)k >= B_s_filled) {
        tile_pack_panels_f32_f32x16(B_s_rows, B_s_cols, &B[k * 256 * N + bx * 32], N, B_s + tile_imin_i64(k, B_s_slots) * 8192, 256, tile_ceildiv_i64(B_s_cols, 32) * 32, 32);
        B_s_filled = tile_imin_i32((int32_t)k + 1, (int32_t)B_s_slots);
      }
      // <tile-ir>:13
      if (k == 0) {
        const int64_t rows = 32 - A_s_rows;
        const int64_t cols = 32 - B_s_cols;
        for (int64_t i = 0; i < rows; i++) {
          for (int64_t j = 0; j < 17; j += 16) {
            tile_store_f32x16(&C_l[(A_s_rows + i) * 32 + j], tile_splat_f32x16(0.0f));
          }
        }
        for (int64_t i = 0; i < A_s_rows; i++) {
          for (int64_t j = 0; j < cols - 15; j += 16) {
            tile_store_f32x16(&C_l[i * 32 + (B_s_cols + j)], tile_splat_f32x16(0.0f));
          }
          for (int64_t j_3 = cols / 16 * 16; j_3 < cols; j_3++) {
            C_l[i * 32 + (B_s_cols + j_3)] = 0.0f;
          }
        }
      }
      outer_f32_ld272_tile(A_s_rows, B_s_cols, tile_imin_i64(A_s_cols, B_s_rows), &A_s[0], B_s + tile_imin_i64(k, B_s_slots) * 8192, 8192, &C_l[0], 32, k != 0);
    }
    // <tile-ir>:16
    const int64_t rows = tile_imin_i64(M - by * 32, 32);
    const int64_t cols = tile_imin_i64(N - bx * 32, 32);
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < cols - 15; j += 16) {
        tile_stream_f32x16(&C[(by * 32 + i) * N + (bx * 32 + j)], tile_load_f32x16(&C_l[i * 32 + j]), tile_past_C);
      }
      for (int64_t j_4 = cols / 16 * 16; j_4 < cols; j_4++) {
        C[(by * 32 + i) * N + (bx * 32 + j_4)] = C_l[i * 32 + j_4];
      }
    }
  }
}

TILE_EXPORT int32_t matmul(const uint64_t *args, const struct tile_rt *rt) {
  float *const A = (float *)args[0];
  float *const B = (float *)args[1];
  float *const C = (float *)args[2];
  const int64_t M = (int64_t)args[3];
  const int64_t N = (int64_t)args[4];
  const int64_t K = (int64_t)args[5];
  // <tile-ir>:4
  {
    struct matmul_ctx ctx = {rt, A, B, C, M, K, N};
    const int64_t njobs = tile_ceildiv_i64(N, 32) * tile_imin_i64(tile_ceildiv_i64(M, 32), tile_truncmod_i64(tile_ceildiv_i64(N, 32), rt->threads) == 0 || tile_ceildiv_i64(N, 32) >= rt->threads * 4 ? 1 : rt->threads * 2);
    rt->parallel_for(rt, njobs, matmul_job, &ctx, tile_ceildiv_i64((tile_imin_i64(tile_ceildiv_i64(K, 256), 256) + 1) * 262144, 512) * 64 + 38848);
  }
  return 0;
}
