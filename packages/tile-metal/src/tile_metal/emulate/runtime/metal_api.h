/* What kernels of this target call, besides the emulator itself. Values that may be unwritten go by
 * pointer: their masks lie beside the thread's stack. */
EMU_FN(void, metal_multiply, struct emu_thread *, u32 at, u32 a_type, u32 d_type, void *d,
       const void *a, const void *b, const void *c)

enum { METAL_F16, METAL_BF16, METAL_F32 };
