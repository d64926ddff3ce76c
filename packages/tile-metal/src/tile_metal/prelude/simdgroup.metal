/* All threads of the block have come, and see what the others wrote to the block's memory. */
TILE_FN void tile_sync() { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup); }

/* The same, and what they wrote to the device's memory. */
TILE_FN void tile_sync_device() {
  metal::threadgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
}

/* The same for the lanes of a simdgroup. */
TILE_FN void tile_simdgroup_sync() { metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup); }

TILE_FN void tile_simdgroup_sync_device() {
  metal::simdgroup_barrier(metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup);
}

/* The value of another lane, by its number. Values of 64 bits travel in halves, truth values as
 * integers. */
template <class T>
TILE_FN T tile_shuffle_idx(T x, int lane) {
  if constexpr (sizeof(T) == 8) {
    uint2 words = as_type<uint2>(x);
    words.x = tile_shuffle_idx(words.x, lane);
    words.y = tile_shuffle_idx(words.y, lane);
    return as_type<T>(words);
  } else if constexpr (sizeof(T) == 4) {
    return metal::simd_shuffle(x, (ushort)lane);
  } else {
    return (T)metal::simd_shuffle((int)x, (ushort)lane);
  }
}

template <class T>
TILE_FN T tile_shuffle_xor(T x, int mask) {
  if constexpr (sizeof(T) == 8) {
    uint2 words = as_type<uint2>(x);
    words.x = tile_shuffle_xor(words.x, mask);
    words.y = tile_shuffle_xor(words.y, mask);
    return as_type<T>(words);
  } else if constexpr (sizeof(T) == 4) {
    return metal::simd_shuffle_xor(x, (ushort)mask);
  } else {
    return (T)metal::simd_shuffle_xor((int)x, (ushort)mask);
  }
}
