/* One step that no other thread of the device sees inside; the value from before is returned. */
template <class T>
TILE_FN T tile_atomic_add(T *p, T x) {
  return __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
TILE_FN T tile_atomic_min(T *p, T x) {
  return __hip_atomic_fetch_min(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
TILE_FN T tile_atomic_max(T *p, T x) {
  return __hip_atomic_fetch_max(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
TILE_FN T tile_atomic_and(T *p, T x) {
  return __hip_atomic_fetch_and(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
TILE_FN T tile_atomic_or(T *p, T x) {
  return __hip_atomic_fetch_or(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
TILE_FN T tile_atomic_xor(T *p, T x) {
  return __hip_atomic_fetch_xor(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T>
TILE_FN T tile_atomic_exchange(T *p, T x) {
  return __hip_atomic_exchange(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/* Read, combine, write: f(old) gives the new word. */
template <class W, class F>
TILE_FN W tile_atomic_word(W *p, F f) {
  W old = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_weak(p, &old, f(old), __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __HIP_MEMORY_SCOPE_AGENT)) {
  }
  return old;
}

/* The same on any type; less than a word is exchanged inside the word that holds it. */
template <class T, class F>
TILE_FN T tile_atomic_loop(T *p, F f) {
  if constexpr (sizeof(T) == 8) {
    return tile_bits_to<T>(tile_atomic_word((unsigned long long *)p, [&](unsigned long long old) {
      return tile_bits_to<unsigned long long>(f(tile_bits_to<T>(old)));
    }));
  } else if constexpr (sizeof(T) == 4) {
    return tile_bits_to<T>(tile_atomic_word((unsigned *)p, [&](unsigned old) {
      return tile_bits_to<unsigned>(f(tile_bits_to<T>(old)));
    }));
  } else {
    unsigned long long address = (unsigned long long)p;
    unsigned shift = (unsigned)(address & 3) * 8, mask = (1u << (8 * sizeof(T))) - 1;
    unsigned *word_at = (unsigned *)((char *)p - (address & 3));
    unsigned old = tile_atomic_word(word_at, [&](unsigned word) {
      unsigned changed = (unsigned)f((T)(word >> shift & mask)) & mask;
      return (word & ~(mask << shift)) | changed << shift;
    });
    return (T)(old >> shift & mask);
  }
}

/* What a thread wrote before is seen by the device before what it writes after, and the other way
 * round for what it reads. */
TILE_FN void tile_fence_acq_rel() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }

/* The same, in one order for all threads of the device. */
TILE_FN void tile_fence_seq_cst() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
