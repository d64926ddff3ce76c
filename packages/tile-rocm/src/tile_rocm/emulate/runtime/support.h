/* What AMD's compiler declares, for C++ on this processor. */

/* ---- who a thread is ---- */

EMU_UNSEEN static u32 __builtin_amdgcn_workitem_id_x() { return EMU_SELF->tid[0]; }
EMU_UNSEEN static u32 __builtin_amdgcn_workgroup_id_x() { return EMU_SELF->ctaid[0]; }
EMU_UNSEEN static u32 __builtin_amdgcn_workgroup_size_x() { return EMU_SELF->ntid[0]; }
EMU_UNSEEN static u32 __builtin_amdgcn_grid_size_x() {
  return EMU_SELF->nctaid[0] * EMU_SELF->ntid[0];
}

/* ---- order ---- */

/* Barriers order what happens inside of a block, so only fences for the whole device ("agent") count. */
EMU_INLINE void rocm_fence(const char *scope) {
  if (scope[0] == 'a') emu_fence(EMU_SELF, 1);
}

#define __builtin_amdgcn_s_barrier() emu_sync()
#define __builtin_amdgcn_wave_barrier() emu_sync_lanes()
#define __builtin_amdgcn_fence(ORDER, SCOPE) rocm_fence(SCOPE)
#define __builtin_amdgcn_s_waitcnt(...) ((void)0)
#define __builtin_amdgcn_sched_barrier(...) ((void)0)
#define __builtin_amdgcn_sched_group_barrier(...) ((void)0)
#define __builtin_amdgcn_s_setprio(...) ((void)0)

/* ---- lanes ---- */

EMU_INLINE int __builtin_amdgcn_ds_bpermute(int address, int word) {
  emu_send("ds_bpermute", &word, (u32)address >> 2 & (EMU_WAVE - 1));
  return word;
}

EMU_INLINE int __builtin_amdgcn_readlane(int word, int lane) {
  emu_send("readlane", &word, (u32)lane);
  return word;
}

EMU_INLINE int __builtin_amdgcn_readfirstlane(int word) {
  emu_send("readfirstlane", &word, 0);
  return word;
}

/* Bit-mask mode: within 32 lanes, and mask, or mask, exclusive or mask. */
EMU_INLINE int __builtin_amdgcn_ds_swizzle(int word, int pattern) {
  u32 lane = emu_lane(), by = (u32)pattern;
  u32 source = ((lane & 31 & by) | (by >> 5 & 31)) ^ (by >> 10 & 31);
  emu_send("ds_swizzle", &word, (lane & ~31u) | source);
  return word;
}

/* Exchanges of four lanes, and rows of 16 or their halves mirrored. */
template <int CONTROL>
EMU_INLINE int hip_dpp(int word) {
  static_assert((CONTROL >= 0 && CONTROL < 0x100) || CONTROL == 0x140 || CONTROL == 0x141,
                "an exchange that the emulator does not know");
  u32 lane = emu_lane();
  u32 quad = (lane & ~3u) | ((u32)CONTROL >> 2 * (lane & 3) & 3);
  emu_send("dpp", &word, CONTROL < 0x100 ? quad : lane ^ (CONTROL == 0x140 ? 15 : 7));
  return word;
}
#define __builtin_amdgcn_update_dpp(OLD, WORD, CONTROL, ROWS, BANKS, BOUND) hip_dpp<CONTROL>(WORD)

/* ---- functions of the units ---- */

EMU_INLINE float __builtin_amdgcn_exp2f(float x) { return __builtin_exp2f(x); }
EMU_INLINE float __builtin_amdgcn_logf(float x) { return __builtin_log2f(x); }
EMU_INLINE float __builtin_amdgcn_rcpf(float x) { return 1.0f / x; }
EMU_INLINE float __builtin_amdgcn_fractf(float x) { return x - __builtin_floorf(x); }
EMU_INLINE float __builtin_amdgcn_sinf(float x) {
  return (float)__builtin_sin((double)x * 6.283185307179586);
}
EMU_INLINE float __builtin_amdgcn_cosf(float x) {
  return (float)__builtin_cos((double)x * 6.283185307179586);
}

/* ---- 8-bit floats; which ones is the architecture's ---- */

EMU_UNSEEN static void hip_to_code(u32 type, u8 *code, const float *x) {
  hip_encode(EMU_SELF, type, code, x);
}
EMU_UNSEEN static void hip_from_code(u32 type, float *x, const u8 *code) {
  hip_decode(EMU_SELF, type, x, code);
}
EMU_INLINE int hip_pack(u32 type, float a, float b, int old, bool high) {
  u8 codes[2];
  hip_to_code(type, &codes[0], &a);
  hip_to_code(type, &codes[1], &b);
  int pair = codes[0] | codes[1] << 8;
  return high ? (old & 0xffff) | pair << 16 : (int)(old & 0xffff0000) | pair;
}
EMU_INLINE float hip_unpack(u32 type, int codes, int byte) {
  u8 code = (u8)(codes >> 8 * byte);
  float x;
  hip_from_code(type, &x, &code);
  return x;
}
#define __builtin_amdgcn_cvt_pk_fp8_f32(A, B, OLD, HIGH) hip_pack(HIP_FP8, A, B, OLD, HIGH)
#define __builtin_amdgcn_cvt_pk_bf8_f32(A, B, OLD, HIGH) hip_pack(HIP_BF8, A, B, OLD, HIGH)
#define __builtin_amdgcn_cvt_f32_fp8(CODES, BYTE) hip_unpack(HIP_FP8, CODES, BYTE)
#define __builtin_amdgcn_cvt_f32_bf8(CODES, BYTE) hip_unpack(HIP_BF8, CODES, BYTE)

/* ---- matrix instructions ---- */

EMU_UNSEEN static void hip_product(const char *name, u32 m, u32 n, u32 k, u32 form, u32 a_type,
                                   u32 b_type, u32 d_type, void *d, const void *a, const void *b) {
  hip_multiply(EMU_SELF, EMU_HERE, name, m, n, k, form, a_type, b_type, d_type, d, a, b);
}
template <u32 M, u32 N, u32 K, u32 FORM, u32 D_TYPE, class A, class B, class C>
EMU_INLINE C hip_matrix(const char *name, u32 a_type, A a, u32 b_type, B b, C c) {
  hip_product(name, M, N, K, FORM, a_type, b_type, D_TYPE, &c, &a, &b);
  return c;
}
/* Formats of instructions with scales, by number; the scale is one. */
EMU_INLINE u32 hip_format(int number) {
  return number == 0 ? HIP_E4M3 : number == 1 ? HIP_E5M2 : number == 2 ? HIP_E2M3
       : number == 3 ? HIP_E3M2 : HIP_E2M1;
}

/* ---- atomics ---- */

#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
template <class T>
EMU_INLINE T hip_look(T *p) {
  return emu_look<T>((u64)p);
}
/* The address decides the type, as it does for AMD's compiler. */
template <class T, class X>
EMU_INLINE T hip_rmw(u32 op, T *p, X x) {
  return emu_rmw<T>(op, (u64)p, (T)x);
}
#define __hip_atomic_fetch_add(P, X, ...) hip_rmw(EMU_ADD, P, X)
#define __hip_atomic_fetch_min(P, X, ...) hip_rmw(EMU_MIN, P, X)
#define __hip_atomic_fetch_max(P, X, ...) hip_rmw(EMU_MAX, P, X)
#define __hip_atomic_fetch_and(P, X, ...) hip_rmw(EMU_AND, P, X)
#define __hip_atomic_fetch_or(P, X, ...) hip_rmw(EMU_OR, P, X)
#define __hip_atomic_fetch_xor(P, X, ...) hip_rmw(EMU_XOR, P, X)
#define __hip_atomic_exchange(P, X, ...) hip_rmw(EMU_EXCHANGE, P, X)
#define __hip_atomic_load(P, ...) hip_look(P)
#define __hip_atomic_compare_exchange_weak(P, OLD, NEW, ...) emu_replace((u64)(P), OLD, NEW)

/* ---- the words that emitted source begins with ---- */

#define TILE_FN EMU_INLINE
#define TILE_KERNEL(THREADS) static __attribute__((noinline))
#define TILE_BLOCKS(THREADS, BLOCKS)
