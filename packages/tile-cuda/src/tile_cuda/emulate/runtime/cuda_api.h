/* Instructions of this target that several threads take part in. */
enum {
  CUDA_F16, CUDA_BF16, CUDA_TF32, CUDA_F32, CUDA_F64, CUDA_E4M3, CUDA_E5M2, CUDA_S8, CUDA_U8,
  CUDA_S32, CUDA_S4, CUDA_U4
};
EMU_FN(void, cuda_mma, struct emu_thread *, u32 at, u32 m, u32 n, u32 k, u32 a_type, u32 b_type,
       u32 d_type, u32 *d, u32 *d_mask, const u32 *a, const u32 *a_mask, const u32 *b,
       const u32 *b_mask)
EMU_FN(void, cuda_ldmatrix, struct emu_thread *, u32 at, u32 count, u32 trans, u64 address, u32 *d,
       u32 *d_mask)
EMU_FN(void, cuda_stmatrix, struct emu_thread *, u32 at, u32 count, u32 trans, u64 address,
       const u32 *s, const u32 *s_mask)
EMU_FN(void, cuda_wgmma, struct emu_thread *, u32 at, u32 n, u32 k, u32 a_type, u32 b_type,
       u32 d_type, u32 *d, u32 *d_mask, u64 a_place, const u32 *a, const u32 *a_mask, u64 b_place,
       u32 keep, i32 a_scale, i32 b_scale, u32 a_turn, u32 b_turn)
EMU_FN(void, cuda_wgmma_fence, struct emu_thread *, u32 at)
EMU_FN(void, cuda_wgmma_commit, struct emu_thread *, u32 at)
EMU_FN(void, cuda_wgmma_end, struct emu_thread *)
EMU_FN(void, cuda_wgmma_wait, struct emu_thread *, u32 at, u32 pending)
EMU_FN(void, cuda_print, struct emu_thread *, u32 at, u64 format, u64 values)
