/* One step that no other thread of the device sees inside; the value from before is returned. */
template <class T, class P>
TILE_FN T tile_atomic_add(P p, T x) {
  return metal::atomic_fetch_add_explicit(tile_as<metal::atomic<T>>(p), x,
                                          metal::memory_order_relaxed);
}

template <class T, class P>
TILE_FN T tile_atomic_min(P p, T x) {
  return metal::atomic_fetch_min_explicit(tile_as<metal::atomic<T>>(p), x,
                                          metal::memory_order_relaxed);
}

template <class T, class P>
TILE_FN T tile_atomic_max(P p, T x) {
  return metal::atomic_fetch_max_explicit(tile_as<metal::atomic<T>>(p), x,
                                          metal::memory_order_relaxed);
}

template <class T, class P>
TILE_FN T tile_atomic_and(P p, T x) {
  return metal::atomic_fetch_and_explicit(tile_as<metal::atomic<T>>(p), x,
                                          metal::memory_order_relaxed);
}

template <class T, class P>
TILE_FN T tile_atomic_or(P p, T x) {
  return metal::atomic_fetch_or_explicit(tile_as<metal::atomic<T>>(p), x,
                                         metal::memory_order_relaxed);
}

template <class T, class P>
TILE_FN T tile_atomic_xor(P p, T x) {
  return metal::atomic_fetch_xor_explicit(tile_as<metal::atomic<T>>(p), x,
                                          metal::memory_order_relaxed);
}

template <class T, class P>
TILE_FN T tile_atomic_exchange(P p, T x) {
  return metal::atomic_exchange_explicit(tile_as<metal::atomic<T>>(p), x,
                                         metal::memory_order_relaxed);
}

/* A word is read; it is exchanged where it is still the one that was expected, which else is what
 * is there now. */
template <class P>
TILE_FN uint tile_atomic_read(P p) {
  return metal::atomic_load_explicit(tile_as<metal::atomic<uint>>(p), metal::memory_order_relaxed);
}

template <class P>
TILE_FN bool tile_atomic_replace(P p, thread uint *expected, uint wanted) {
  return metal::atomic_compare_exchange_weak_explicit(
      tile_as<metal::atomic<uint>>(p), expected, wanted, metal::memory_order_relaxed,
      metal::memory_order_relaxed);
}

/* What this thread did before, and has seen of others, is seen by those who see what it writes later;
 * all in memory of the device, through coherent pointers. Fences have no weaker order than this. */
TILE_FN void tile_fence_seq_cst() {
  metal::atomic_thread_fence(metal::mem_flags::mem_device, metal::memory_order_seq_cst,
                             metal::thread_scope_device);
}

TILE_FN void tile_fence_acq_rel() { tile_fence_seq_cst(); }

/* Read, combine by F::of(old, x), write, on a type T of at most a word; less than a word is exchanged
 * inside the word that holds it. */
template <class T, class F, class P, class X>
TILE_FN T tile_atomic_loop(P p, X x) {
  if constexpr (sizeof(T) == 4) {
    uint old = tile_atomic_read(p);
    while (!tile_atomic_replace(p, &old, as_type<uint>(F::of(as_type<T>(old), x)))) {
    }
    return as_type<T>(old);
  } else {
    ulong address = (ulong)p;
    uint shift = (uint)(address & 3) * 8, mask = (1u << (8 * sizeof(T))) - 1;
    auto word = tile_as<uint>(tile_as<uchar>(p) - (address & 3));
    uint old = tile_atomic_read(word), wanted;
    do {
      uint changed = (uint)F::of((T)(old >> shift & mask), x) & mask;
      wanted = (old & ~(mask << shift)) | changed << shift;
    } while (!tile_atomic_replace(word, &old, wanted));
    return (T)(old >> shift & mask);
  }
}
