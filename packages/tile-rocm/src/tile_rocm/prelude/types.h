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

/* N values that move together; 16 bytes are what one access moves at most. */
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) tile_vec {
  T v[N];
};

/* The value of f for every lane. */
template <class F, class A, int N>
TILE_FN auto tile_map(F f, tile_vec<A, N> a) {
  tile_vec<decltype(f(a.v[0])), N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = f(a.v[i]);
  return r;
}

template <class F, class A, class B, int N>
TILE_FN auto tile_map(F f, tile_vec<A, N> a, tile_vec<B, N> b) {
  tile_vec<decltype(f(a.v[0], b.v[0])), N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = f(a.v[i], b.v[i]);
  return r;
}

template <class F, class A, class B, class C, int N>
TILE_FN auto tile_map(F f, tile_vec<A, N> a, tile_vec<B, N> b, tile_vec<C, N> c) {
  tile_vec<decltype(f(a.v[0], b.v[0], c.v[0])), N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = f(a.v[i], b.v[i], c.v[i]);
  return r;
}

/* All lanes into one, in pairs of lanes. */
template <class F, class A, int N>
TILE_FN A tile_fold(F f, tile_vec<A, N> a) {
#pragma unroll
  for (int half = N / 2; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < half; i++) a.v[i] = f(a.v[i], a.v[i + half]);
  return a.v[0];
}

template <int N, class T>
TILE_FN tile_vec<T, N> tile_splat(T x) {
  tile_vec<T, N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = x;
  return r;
}

template <int N, class T>
TILE_FN tile_vec<T, N> tile_ramp(T base, T step) {
  tile_vec<T, N> r;
#pragma unroll
  for (int i = 0; i < N; i++) r.v[i] = base + (T)i * step;
  return r;
}

/* The same bits as another type. */
template <class T, class B>
TILE_FN T tile_bits_to(B bits) {
  static_assert(sizeof(T) == sizeof(B), "the same bits");
  return __builtin_bit_cast(T, bits);
}
