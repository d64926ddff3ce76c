/* What kernels of this target call, besides the emulator itself. Values that may be unwritten go by
 * pointer: their masks lie beside the thread's stack. */
EMU_FN(void, hip_multiply, struct emu_thread *, u32 at, const char *name, u32 m, u32 n, u32 k,
       u32 form, u32 a_type, u32 b_type, u32 d_type, void *d, const void *a, const void *b)
EMU_FN(void, hip_encode, struct emu_thread *, u32 type, void *code, const void *value)
EMU_FN(void, hip_decode, struct emu_thread *, u32 type, void *value, const void *code)

enum {
  HIP_F16, HIP_BF16, HIP_F32, HIP_F64, HIP_S32, HIP_S8, HIP_U8, HIP_S4, HIP_U4, HIP_E4M3, HIP_E5M2,
  HIP_E4M3FNUZ, HIP_E5M2FNUZ, HIP_E2M3, HIP_E3M2, HIP_E2M1
};
/* Which lanes hold what: MFMA; its f64 form; WMMA of gfx11, whose halves of a wave hold the same
 * operands; WMMA of gfx12. */
enum { HIP_MFMA, HIP_MFMA_F64, HIP_WMMA_DOUBLE, HIP_WMMA };
