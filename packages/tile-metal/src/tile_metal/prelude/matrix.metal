/* c += a b, of matrices of 8 by 8, where each lane of the simdgroup has two elements of each. `E` is
 * the type of elements of a and b in the unit, `S` that of sums. */
template <class E, class S, class A, class C>
TILE_FN void tile_multiply(thread C *c, const thread A *a, const thread A *b) {
  metal::simdgroup_matrix<E, 8, 8> x, y;
  metal::simdgroup_matrix<S, 8, 8> sum;
#pragma clang loop unroll(full)
  for (int i = 0; i < 2; i++) {
    x.thread_elements()[i] = tile_element<E>(a[i]);
    y.thread_elements()[i] = tile_element<E>(b[i]);
    sum.thread_elements()[i] = tile_element<S>(c[i]);
  }
  metal::simdgroup_multiply_accumulate(sum, x, y, sum);
#pragma clang loop unroll(full)
  for (int i = 0; i < 2; i++) c[i] = tile_bits_to<C>((S)sum.thread_elements()[i]);
}

/* An element of registers, as its bits, in the type that the unit takes. */
template <class E, class T>
TILE_FN E tile_element(T bits) {
  return tile_bits_to<E>(bits);
}

/* c += a b for bf16 where the unit takes none: products of bf16 are exact in f32. */
TILE_FN void tile_multiply_widened(thread float *c, const thread ushort *a,
                                   const thread ushort *b) {
  float x[2] = {tile_bf16_to_f32(a[0]), tile_bf16_to_f32(a[1])};
  float y[2] = {tile_bf16_to_f32(b[0]), tile_bf16_to_f32(b[1])};
  tile_multiply<float, float>(c, x, y);
}

/* N registers of an accumulator set to zero. */
template <int N, class C>
TILE_FN void tile_clear(thread C *c) {
#pragma clang loop unroll(full)
  for (int i = 0; i < N; i++) c[i] = 0;
}
