/* Every helper is inlined: a call would put registers into memory. */
#define TILE_FN static __attribute__((device)) inline __attribute__((always_inline))

/* A kernel that is launched with exactly so many threads to a block. */
#define TILE_KERNEL(THREADS) \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS)))

/* So many blocks are to fit on a compute unit, whose four units share their waves. */
#define TILE_BLOCKS(THREADS, BLOCKS) \
  __attribute__((amdgpu_waves_per_eu(((THREADS) / TILE_WAVE * (BLOCKS) + 3) / 4)))

#define TILE_SHARED static __attribute__((shared, aligned(16)))

/* N values as the compiler's own vector: operands of instructions, whole accesses. */
template <class T, int N>
using tile_simd = T __attribute__((ext_vector_type(N)));

/* The same bits as another type. */
template <class T, class B>
TILE_FN T tile_bits_to(B bits) {
  static_assert(sizeof(T) == sizeof(B), "the same bits");
  return __builtin_bit_cast(T, bits);
}
