/* As much of Metal's library and types as emitted source uses, for C++ on this processor. Address
 * spaces are clang's own, so that a pointer of one still does not become one of another. */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
typedef __bf16 bfloat;
typedef unsigned long size_t;
typedef uchar uchar2 __attribute__((ext_vector_type(2)));
typedef ushort ushort2 __attribute__((ext_vector_type(2)));
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));

#define device __attribute__((address_space(1)))
#define threadgroup __attribute__((address_space(3)))
#define thread
#define constant
#define kernel
#define coherent(SCOPE)
#define __METAL_VERSION__ 320

template <class T, class B>
EMU_INLINE T as_type(B bits) {
  return __builtin_bit_cast(T, bits);
}

EMU_UNSEEN static uint metal_thread() { return EMU_SELF->index; }
EMU_UNSEEN static uint metal_simdgroup() { return EMU_SELF->warp; }
EMU_UNSEEN static uint metal_block() { return EMU_SELF->ctaid[0]; }
EMU_UNSEEN static uint metal_blocks() { return EMU_SELF->nctaid[0]; }
EMU_UNSEEN static void metal_product(u32 a_type, u32 d_type, void *d, const void *a, const void *b,
                                     const void *c) {
  metal_multiply(EMU_SELF, EMU_HERE, a_type, d_type, d, a, b, c);
}

namespace metal {

/* ---- order ---- */

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
EMU_INLINE mem_flags operator|(mem_flags a, mem_flags b) { return (mem_flags)((int)a | (int)b); }
EMU_INLINE void threadgroup_barrier(mem_flags) { emu_sync(); }
EMU_INLINE void simdgroup_barrier(mem_flags) { emu_sync_lanes(); }

/* ---- lanes ---- */

template <class T>
EMU_INLINE T simd_shuffle(T x, ushort lane) {
  emu_send("simd_shuffle", &x, lane);
  return x;
}
template <class T>
EMU_INLINE T simd_shuffle_xor(T x, ushort mask) {
  emu_send("simd_shuffle_xor", &x, emu_lane() ^ mask);
  return x;
}

/* ---- matrices of a simdgroup ---- */

template <class T> struct emu_element;
template <> struct emu_element<half> { enum { TYPE = METAL_F16 }; };
template <> struct emu_element<bfloat> { enum { TYPE = METAL_BF16 }; };
template <> struct emu_element<float> { enum { TYPE = METAL_F32 }; };

template <class T, int ROWS, int COLUMNS>
struct simdgroup_matrix {
  static_assert(ROWS == 8 && COLUMNS == 8, "the only shape");
  T held[2];
  __attribute__((always_inline)) T *thread_elements() { return held; }
};
template <class D, class E>
EMU_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d,
                                              const simdgroup_matrix<E, 8, 8> &a,
                                              const simdgroup_matrix<E, 8, 8> &b,
                                              const simdgroup_matrix<D, 8, 8> &c) {
  metal_product(emu_element<E>::TYPE, emu_element<D>::TYPE, d.held, a.held, b.held, c.held);
}

/* ---- functions; the accurate and the fast ones are the same here ---- */

#define METAL_FUNCTIONS(NAME) \
  EMU_INLINE float NAME(float x) { return __builtin_##NAME##f(x); }
#define METAL_PAIRS(NAME) \
  EMU_INLINE float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }
METAL_FUNCTIONS(floor)
METAL_FUNCTIONS(ceil)
METAL_FUNCTIONS(trunc)
METAL_FUNCTIONS(rint)
METAL_FUNCTIONS(fabs)
METAL_PAIRS(copysign)
METAL_PAIRS(fmax)
METAL_PAIRS(fmin)
EMU_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMU_INLINE uint popcount(uint x) { return (uint)__builtin_popcount(x); }
EMU_INLINE uint clz(uint x) { return x ? (uint)__builtin_clz(x) : 32; }

namespace precise {
METAL_FUNCTIONS(exp)
METAL_FUNCTIONS(exp2)
EMU_INLINE float exp10(float x) { return (float)__builtin_pow(10.0, x); }
METAL_FUNCTIONS(log)
METAL_FUNCTIONS(log2)
METAL_FUNCTIONS(log10)
METAL_FUNCTIONS(sqrt)
EMU_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
METAL_FUNCTIONS(sin)
METAL_FUNCTIONS(cos)
METAL_FUNCTIONS(tan)
METAL_FUNCTIONS(asin)
METAL_FUNCTIONS(acos)
METAL_FUNCTIONS(atan)
METAL_FUNCTIONS(sinh)
METAL_FUNCTIONS(cosh)
METAL_FUNCTIONS(tanh)
METAL_FUNCTIONS(asinh)
METAL_FUNCTIONS(acosh)
METAL_FUNCTIONS(atanh)
METAL_PAIRS(pow)
METAL_PAIRS(fmod)
METAL_PAIRS(atan2)
}  // namespace precise

namespace fast {
using namespace precise;
EMU_INLINE float divide(float x, float y) { return x / y; }
}  // namespace fast

/* ---- atomics, in either address space ---- */

template <class T>
struct atomic {
  T value;
};
enum memory_order { memory_order_relaxed, memory_order_seq_cst };
enum thread_scope { thread_scope_device };
EMU_INLINE void atomic_thread_fence(mem_flags, memory_order, thread_scope) {
  emu_fence(EMU_SELF, 1);
}

#define METAL_ATOMIC(NAME, OP)                                      \
  template <class P, class T>                                       \
  EMU_INLINE T atomic_##NAME##_explicit(P p, T x, memory_order) {   \
    return emu_rmw<T>(OP, (u64)p, x);                               \
  }
METAL_ATOMIC(fetch_add, EMU_ADD)
METAL_ATOMIC(fetch_min, EMU_MIN)
METAL_ATOMIC(fetch_max, EMU_MAX)
METAL_ATOMIC(fetch_and, EMU_AND)
METAL_ATOMIC(fetch_or, EMU_OR)
METAL_ATOMIC(fetch_xor, EMU_XOR)
METAL_ATOMIC(exchange, EMU_EXCHANGE)
template <class T>
EMU_INLINE T atomic_load_explicit(device atomic<T> *p, memory_order) {
  return emu_look<T>((u64)p);
}
template <class T>
EMU_INLINE T atomic_load_explicit(threadgroup atomic<T> *p, memory_order) {
  return emu_look<T>((u64)p);
}
template <class P, class T>
EMU_INLINE bool atomic_compare_exchange_weak_explicit(P p, T *expected, T wanted, memory_order,
                                                      memory_order) {
  return emu_replace((u64)p, expected, wanted);
}
}  // namespace metal

/* ---- the words that emitted source begins with ---- */

#define TILE_FN EMU_INLINE
#define TILE_KERNEL(THREADS) static __attribute__((noinline)) void
#define TILE_PLACE \
  uint thread_index, uint lane_index, uint simdgroup_index, uint block_index, uint block_count
#define TILE_ARENA(NAME, BYTES) threadgroup uchar *const NAME = (threadgroup uchar *)emu_arena()
