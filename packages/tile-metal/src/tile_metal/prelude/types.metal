/* Every helper is inlined: a call would put registers into memory. */
#define TILE_FN static inline __attribute__((always_inline))

/* A kernel that is launched with exactly so many threads to a threadgroup. */
#define TILE_KERNEL(THREADS) [[max_total_threads_per_threadgroup(THREADS)]] kernel void

/* Who a thread is: the last parameters of every kernel. Launches have one dimension. */
#define TILE_PLACE                                                                                 \
  uint thread_index [[thread_index_in_threadgroup]], uint lane_index [[thread_index_in_simdgroup]], \
      uint simdgroup_index [[simdgroup_index_in_threadgroup]],                                     \
      uint block_index [[threadgroup_position_in_grid]], uint block_count [[threadgroups_per_grid]]

/* The memory that the threads of a block share: the one place where it is declared. */
#define TILE_ARENA(NAME, BYTES) alignas(16) threadgroup uchar NAME[BYTES]

/* The same place as a pointer to T, in the address space in which it is. A machine that emulates has
 * one space. */
#ifndef ONE_ADDRESS_SPACE
template <class T, class U>
TILE_FN device T *tile_as(device U *p) {
  return (device T *)p;
}
template <class T, class U>
TILE_FN threadgroup T *tile_as(threadgroup U *p) {
  return (threadgroup T *)p;
}
#endif
template <class T, class U>
TILE_FN thread T *tile_as(thread U *p) {
  return (thread T *)p;
}

/* The value of F::of for every lane. */
template <class F, class A, int N>
TILE_FN auto tile_map(tile_vec<A, N> a) {
  tile_vec<decltype(F::of(a.v[0])), N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = F::of(a.v[i]);
  return r;
}

template <class F, class A, class B, int N>
TILE_FN auto tile_map(tile_vec<A, N> a, tile_vec<B, N> b) {
  tile_vec<decltype(F::of(a.v[0], b.v[0])), N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = F::of(a.v[i], b.v[i]);
  return r;
}

template <class F, class A, class B, class C, int N>
TILE_FN auto tile_map(tile_vec<A, N> a, tile_vec<B, N> b, tile_vec<C, N> c) {
  tile_vec<decltype(F::of(a.v[0], b.v[0], c.v[0])), N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = F::of(a.v[i], b.v[i], c.v[i]);
  return r;
}

/* All lanes into one, in pairs of lanes. */
template <class F, class A, int N>
TILE_FN A tile_fold(tile_vec<A, N> a) {
#pragma clang loop unroll(full)
  for (int half_way = N / 2; half_way > 0; half_way /= 2)
#pragma clang loop unroll(full)
    for (int i = 0; i < half_way; i++) a.v[i] = F::of(a.v[i], a.v[i + half_way]);
  return a.v[0];
}

template <int N, class T>
TILE_FN tile_vec<T, N> tile_splat(T x) {
  tile_vec<T, N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = x;
  return r;
}

template <int N, class T>
TILE_FN tile_vec<T, N> tile_ramp(T base, T step) {
  tile_vec<T, N> r;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) r.v[i] = base + (T)i * step;
  return r;
}

/* The same bits as another scalar type. */
template <class T, class B>
TILE_FN T tile_bits_to(B bits) {
  return as_type<T>(bits);
}
