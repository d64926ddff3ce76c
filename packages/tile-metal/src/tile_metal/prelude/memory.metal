/* One access of BYTES bytes; both addresses are multiples of it (of 16 where it is more). It is an
 * access of a vector or of bytes whatever the size, which compilers take to touch any type. */
template <int BYTES, class D, class S>
TILE_FN void tile_move(D dst, S src) {
  if constexpr (BYTES > 16) {
    tile_move<16>(tile_as<uchar>(dst), tile_as<const uchar>(src));
    tile_move<BYTES - 16>(tile_as<uchar>(dst) + 16, tile_as<const uchar>(src) + 16);
  } else if constexpr (BYTES == 16) {
    *tile_as<uint4>(dst) = *tile_as<const uint4>(src);
  } else if constexpr (BYTES == 8) {
    *tile_as<uint2>(dst) = *tile_as<const uint2>(src);
  } else if constexpr (BYTES == 4) {
    *tile_as<ushort2>(dst) = *tile_as<const ushort2>(src);
  } else if constexpr (BYTES == 2) {
    *tile_as<uchar2>(dst) = *tile_as<const uchar2>(src);
  } else {
    *tile_as<uchar>(dst) = *tile_as<const uchar>(src);
  }
}

/* The same; nothing is read where `valid` is false. */
template <int BYTES, class D, class S>
TILE_FN void tile_move_or_zero(D dst, S src, bool valid) {
  tile_vec<uchar, BYTES> r = {};
  if (valid) tile_move<BYTES>(r.v, src);
  tile_move<BYTES>(dst, r.v);
}

/* Something of the type that a pointer points to, without const; for its type alone. */
#ifndef ONE_ADDRESS_SPACE
template <class T>
TILE_FN T tile_pointed(device T *p) {
  return *p;
}
template <class T>
TILE_FN T tile_pointed(const device T *p) {
  return *p;
}
template <class T>
TILE_FN T tile_pointed(threadgroup T *p) {
  return *p;
}
template <class T>
TILE_FN T tile_pointed(const threadgroup T *p) {
  return *p;
}
#endif
template <class T>
TILE_FN T tile_pointed(thread T *p) {
  return *p;
}
template <class T>
TILE_FN T tile_pointed(const thread T *p) {
  return *p;
}

template <int N, class P>
TILE_FN auto tile_load(P p) {
  tile_vec<decltype(tile_pointed(p)), N> r;
  tile_move<N * (int)sizeof(tile_pointed(p))>(r.v, p);
  return r;
}

template <class P, class T, int N>
TILE_FN void tile_store(P p, tile_vec<T, N> x) {
  tile_move<N * (int)sizeof(T)>(p, x.v);
}

/* Two 4-bit codes share a byte, the even element in the low half. */
template <class P>
TILE_FN uchar tile_load_nibble(P p, long i) {
  return (uchar)(p[i >> 1] >> ((i & 1) * 4) & 15);
}

/* Both halves of a byte must be written by one thread: the other half is read and written back. */
template <class P>
TILE_FN void tile_store_nibble(P p, long i, uchar code) {
  int shift = (int)(i & 1) * 4;
  p[i >> 1] = (uchar)((p[i >> 1] & (0xf0 >> shift)) | (code & 15) << shift);
}
