/* Who a thread is. Blocks have one dimension. */
TILE_FN int tile_thread() { return (int)__builtin_amdgcn_workitem_id_x(); }

TILE_FN int tile_block() { return (int)__builtin_amdgcn_workgroup_id_x(); }

/* Blocks of the launch. */
TILE_FN int tile_blocks() {
  return (int)(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x());
}

TILE_FN int tile_lane() { return tile_thread() & (TILE_WAVE - 1); }

/* From the first lane: the compiler then knows that the number is equal in a wave. */
TILE_FN int tile_wave() { return __builtin_amdgcn_readfirstlane(tile_thread() / TILE_WAVE); }

/* All threads of the block have come, and see what the others wrote. */
TILE_FN void tile_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* The same for the lanes of a wave, which run in step: nothing may be moved across. */
TILE_FN void tile_wave_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/* Loads of global memory stand above, matrix instructions below: nothing but plain arithmetic (bits
   1 and 2) and accesses of shared memory (bit 7) may be scheduled across. */
TILE_FN void tile_loads_started() { __builtin_amdgcn_sched_barrier(0x86); }

/* Between the steps of a product: only arithmetic may be scheduled across. */
TILE_FN void tile_steps_apart() { __builtin_amdgcn_sched_barrier(0x6); }

/* Matrix instructions stand above, what waits for loads below: nothing but scalar arithmetic (bit 2)
   and reads of shared memory (bit 8) may be scheduled across. */
TILE_FN void tile_products_started() { __builtin_amdgcn_sched_barrier(0x104); }

/* The 32-bit words of a value, each sent through f. Smaller values travel in a word of their own. */
template <class T, class F>
TILE_FN T tile_by_words(T x, F f) {
  if constexpr (sizeof(T) == 8) {
    tile_simd<int, 2> words = tile_bits_to<tile_simd<int, 2>>(x);
    words.x = f(words.x);
    words.y = f(words.y);
    return tile_bits_to<T>(words);
  } else if constexpr (sizeof(T) == 4) {
    return tile_bits_to<T>(f(tile_bits_to<int>(x)));
  } else {
    return (T)f((int)x);
  }
}

/* The value of another lane, by its number, through the permute network of shared memory. */
template <class T>
TILE_FN T tile_shuffle_idx(T x, int lane) {
  return tile_by_words(x, [=](int word) { return __builtin_amdgcn_ds_bpermute(lane << 2, word); });
}

template <class T>
TILE_FN T tile_shuffle_xor(T x, int mask) {
  return tile_shuffle_idx(x, tile_lane() ^ mask);
}

/* A mask known in advance: within 4, 8 or 16 lanes the exchange is part of a move between registers;
 * within 32 it needs no addresses. Codes of the exchanges are those of DPP and of ds_swizzle. */
template <int MASK>
TILE_FN int tile_exchange(int word) {
  if constexpr (MASK == 0) {
    return word;
  } else if constexpr (MASK < 4) {
    constexpr int quad = (0 ^ MASK) | (1 ^ MASK) << 2 | (2 ^ MASK) << 4 | (3 ^ MASK) << 6;
    return __builtin_amdgcn_update_dpp(0, word, quad, 0xf, 0xf, true);
  } else if constexpr (MASK == 7) {
    return __builtin_amdgcn_update_dpp(0, word, 0x141, 0xf, 0xf, true);
  } else if constexpr (MASK == 15) {
    return __builtin_amdgcn_update_dpp(0, word, 0x140, 0xf, 0xf, true);
  } else if constexpr (MASK < 32) {
    return __builtin_amdgcn_ds_swizzle(word, MASK << 10 | 0x1f);
  } else {
    return __builtin_amdgcn_ds_bpermute((tile_lane() ^ MASK) << 2, word);
  }
}

template <int MASK, class T>
TILE_FN T tile_shuffle_xor_by(T x) {
  return tile_by_words(x, [](int word) { return tile_exchange<MASK>(word); });
}
